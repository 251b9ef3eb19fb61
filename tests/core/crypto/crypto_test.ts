import assert from "node:assert/strict";
import { asInNode24 } from "../../kit/node_24.ts";
import {
  base64url,
  fingerprint,
  fromBase64url,
  fromHex,
  isSameSecret,
  randomId,
} from "../../../src/core/crypto/crypto.ts";

Deno.test("randomId() gives 43 URL-safe characters, never the same ones", () => {
  const ids = Array.from({ length: 100 }, () => randomId());
  for (const id of ids) assert.match(id, /^[A-Za-z0-9_-]{43}$/);
  assert.equal(new Set(ids).size, 100);
});

Deno.test("randomId() gives as many bytes as it is asked for", () => {
  assert.equal(randomId(12).length, 16);
});

Deno.test("base64url() encodes as RFC 4648 §5 does, without padding", () => {
  const encode = (text: string) => base64url(new TextEncoder().encode(text));
  assert.equal(encode(""), "");
  assert.equal(encode("f"), "Zg");
  assert.equal(encode("fo"), "Zm8");
  assert.equal(encode("foobar"), "Zm9vYmFy");
  assert.equal(base64url(new Uint8Array([0xfb, 0xff, 0xfe])), "-__-");
});

Deno.test("base64url() prints the same where bytes cannot, as in Node.js 24", () =>
  asInNode24(() =>
    assert.equal(base64url(new Uint8Array([0xfb, 0xff, 0xfe, 0])), "-__-AA")
  ));

Deno.test("fromHex() reads digits of both cases, and nothing else", () => {
  assert.deepEqual(fromHex("00fFa0"), new Uint8Array([0, 255, 160]));
  assert.throws(() => fromHex("0g"));
});

Deno.test("fromBase64url() reads what base64url() writes, and nothing else", () => {
  for (const bytes of [[], [0], [0xfb, 0xff], [0xfb, 0xff, 0xfe]]) {
    const given = new Uint8Array(bytes);
    assert.deepEqual(fromBase64url(base64url(given)), given);
  }
  assert.throws(() => fromBase64url("no!"));
});

Deno.test("fingerprint() is SHA-256 of UTF-8 in base64url", () => {
  // FIPS 180-4, the digest of "abc".
  assert.equal(
    fingerprint("abc"),
    "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0",
  );
  assert.equal(
    fingerprint("é"),
    base64url(
      Uint8Array.fromHex(
        "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c",
      ),
    ),
  );
});

Deno.test("isSameSecret() tells equal texts from any others", () => {
  assert.equal(isSameSecret("secret", "secret"), true);
  assert.equal(isSameSecret("", ""), true);
  const others = [
    "",
    "Secret",
    "secret ",
    "secre",
    "secrets",
    "secretsecret",
    "sécret",
  ];
  for (const other of others) {
    assert.equal(isSameSecret("secret", other), false, other);
    assert.equal(isSameSecret(other, "secret"), false, other);
  }
});
