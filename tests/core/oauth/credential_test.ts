import assert from "node:assert/strict";
import {
  isTagged,
  mintCredential,
  mintPersonalToken,
  mintRefreshToken,
  newGrantId,
  newPersonalGrantId,
  newRefreshKey,
  parseCredential,
  parsePersonalToken,
  tokenShape,
} from "../../../src/core/oauth/credential.ts";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";

const HEADER = "eyJhbGciOiJFUzI1NiJ9";

for (
  const [what, token, shape] of [
    ["our access token", mintCredential("access_token", newGrantId()), "own"],
    ["a broken one of ours", "tsa_x", "own"],
    ["ours with the parts of a JWT", `tsa_${HEADER}.e30.c2ln`, "own"],
    ["a JWT", `${HEADER}.e30.c2ln`, "jwt"],
    ["a JWT whose header has spaces", "eyAiYWxnIjogIkVTMjU2IiB9.e30.x", "jwt"],
    ["an unsigned JWT", "eyJhbGciOiJub25lIn0.e30.", "jwt"],
    ["a JWT with our prefix inside", `${HEADER}.e30.tsa_`, "jwt"],
    ["a JWT behind another sign", `+${HEADER}.e30.c2ln`, "static"],
    ["three words with dots", "one.two.three", "static"],
    ["a header without alg", "e30.e30.c2ln", "static"],
    ["a header that is null", "bnVsbA.e30.c2ln", "static"],
    ["two parts", `${HEADER}.e30`, "static"],
    ["five parts", `${HEADER}.a.b.c.d`, "static"],
    ["a JWT's neighbour with one character more", `${HEADER}.e30.c+`, "static"],
    ["a text", "the-only-secret-token", "static"],
    ["a text that begins nearly like ours", "ts_secret-token", "static"],
    ["ours in capitals", "TSA_secret-token", "static"],
    ["nothing", "", "static"],
  ] as const
) {
  Deno.test(`tokenShape() takes ${what} for ${shape}`, () => {
    assert.equal(tokenShape(token), shape);
  });
}

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
    ["wrong checksum", TOKEN.slice(0, -1) + (TOKEN.endsWith("0") ? "1" : "0")],
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

const ALPHABET =
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const key = newRefreshKey();
const grantId = newGrantId();
const token = mintRefreshToken(grantId, key);

Deno.test("mintRefreshToken() makes a credential as long as any other", () => {
  assert.deepEqual(parseCredential(token), { kind: "refresh_token", grantId });
  assert.equal(token.length, "tsr_".length + 22 + 1 + 43);
});

Deno.test("mintRefreshToken() tags 160 bits with HMAC-SHA-256, as another has it", () => {
  const secret = Buffer.from(token.slice(-43), "base64url");
  const tag = createHmac("sha256", Buffer.from(key, "base64url"))
    .update(secret.subarray(0, 20)).digest();
  assert.deepEqual(secret.subarray(20), tag.subarray(0, 12));
});

Deno.test("mintRefreshToken() makes no token twice", () => {
  const made = Array.from({ length: 100 }, () => mintRefreshToken("g", key));
  assert.equal(new Set(made).size, 100);
});

Deno.test("isTagged() takes nothing for a grant without a key", () => {
  assert(!isTagged(mintRefreshToken(grantId, ""), undefined));
});

Deno.test("isTagged() takes what was made with the key, with every letter right", () => {
  assert(isTagged(token, key));
  assert(!isTagged(token, newRefreshKey()));
  const start = token.length - 43;
  for (let at = start; at < token.length; at++) {
    // The last letter has two bits that belong to no byte.
    const other = ALPHABET[ALPHABET.indexOf(token[at]) ^ 1];
    const changed = token.slice(0, at) + other + token.slice(at + 1);
    assert(!isTagged(changed, key), changed);
  }
});
