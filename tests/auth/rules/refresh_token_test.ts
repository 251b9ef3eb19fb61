import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import {
  newGrantId,
  parseCredential,
} from "../../../src/auth/rules/credential.ts";
import {
  isMinted,
  mintRefreshToken,
  newRefreshKey,
} from "../../../src/auth/rules/refresh_token.ts";

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

Deno.test("isMinted() takes nothing for a grant without a key", () => {
  assert(!isMinted(mintRefreshToken(grantId, ""), undefined));
});

Deno.test("isMinted() takes what was made with the key, with every letter right", () => {
  assert(isMinted(token, key));
  assert(!isMinted(token, newRefreshKey()));
  const start = token.length - 43;
  for (let at = start; at < token.length; at++) {
    // The last letter has two bits that belong to no byte.
    const other = ALPHABET[ALPHABET.indexOf(token[at]) ^ 1];
    const changed = token.slice(0, at) + other + token.slice(at + 1);
    assert(!isMinted(changed, key), changed);
  }
});
