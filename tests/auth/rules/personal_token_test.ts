import assert from "node:assert/strict";
import {
  parseCredential,
  tokenShape,
} from "../../../src/auth/rules/credential.ts";
import {
  mintPersonalToken,
  newPersonalGrantId,
  parsePersonalToken,
} from "../../../src/auth/rules/personal_token.ts";

/** A token whose checksum was computed by Python's zlib.crc32. */
const TOKEN = "tsp_AbCdEfGhIjKlMnOpQrStUv0123456789012345678901234567Zz2X0KiN";
const GRANT_ID = "AbCdEfGhIjKlMnOpQrStUv";

Deno.test("parsePersonalToken() reads the grant of a token by its checksum", () => {
  assert.equal(parsePersonalToken(TOKEN), GRANT_ID);
  assert.deepEqual(parseCredential(TOKEN), {
    kind: "personal_token",
    grantId: GRANT_ID,
  });
});

for (
  const [what, token] of [
    ["a letter that was mistyped", TOKEN.replace("EfGh", "EfGi")],
    [
      "a wrong checksum",
      TOKEN.slice(0, -1) + (TOKEN.endsWith("0") ? "1" : "0"),
    ],
    ["a character too few", TOKEN.slice(0, -1)],
    ["a character too many", TOKEN + "0"],
    ["a character in front", "0" + TOKEN],
    ["another prefix", TOKEN.replace("tsp_", "tsa_")],
    ["a sign that is no word character", TOKEN.replace("AbC", "A-C")],
  ]
) {
  Deno.test(`parsePersonalToken() refuses ${what}`, () => {
    assert.equal(parsePersonalToken(token), undefined);
    assert.equal(parseCredential(token), undefined);
  });
}

Deno.test("mintPersonalToken() makes no character likelier than another", () => {
  const draws = [248, 255, 247];
  const getRandomValues = <T extends ArrayBufferView>(bytes: T): T => {
    (bytes as unknown as Uint8Array)[0] = draws.shift() ?? 0;
    return bytes;
  };
  Object.defineProperty(crypto, "getRandomValues", {
    value: getRandomValues,
    configurable: true,
  });
  try {
    assert.equal(newPersonalGrantId(), "z".padEnd(22, "0"));
  } finally {
    Reflect.deleteProperty(crypto, "getRandomValues");
  }
});

Deno.test("mintPersonalToken() makes what scanners find, and never the same", () => {
  const tokens = Array.from({ length: 100 }, () => {
    const grantId = newPersonalGrantId();
    const token = mintPersonalToken(grantId);
    assert.match(token, /^tsp_\w{58}$/);
    assert.equal(parsePersonalToken(token), grantId);
    assert.equal(tokenShape(token), "own");
    return token;
  });
  assert.equal(new Set(tokens).size, 100);
  const grantId = newPersonalGrantId();
  assert.notEqual(mintPersonalToken(grantId), mintPersonalToken(grantId));
});
