import assert from "node:assert/strict";
import { hkdfSync } from "node:crypto";
import {
  mintCredential,
  newGrantId,
  parseCredential,
} from "../../../src/core/oauth/credential.ts";
import {
  deriveKey,
  newDataKey,
  unwrapDataKey,
  wrapDataKey,
} from "../../../src/core/oauth/refresh_token.ts";

Deno.test("deriveKey() is HKDF-SHA-256 without a salt, as another has it", () => {
  const info = "tool-server successor";
  assert.deepEqual(
    deriveKey("a secret", "successor"),
    new Uint8Array(hkdfSync("sha256", "a secret", "", info, 32)),
  );
});

Deno.test("deriveKey() keeps purposes apart", () => {
  assert.deepEqual(deriveKey("s", "a"), deriveKey("s", "a"));
  assert.notDeepEqual(deriveKey("s", "a"), deriveKey("s", "b"));
  assert.notDeepEqual(deriveKey("s", "a"), deriveKey("t", "a"));
});

Deno.test("unwrapDataKey() opens with the credential that it was wrapped for", async () => {
  const grantId = newGrantId();
  const credential = mintCredential("code", grantId);
  const dataKey = newDataKey();
  const wrapped = await wrapDataKey(dataKey, grantId, credential);
  assert.deepEqual(await unwrapDataKey(wrapped, grantId, credential), dataKey);
  await assert.rejects(
    unwrapDataKey(wrapped, grantId, mintCredential("code", grantId)),
  );
  await assert.rejects(unwrapDataKey(wrapped, newGrantId(), credential));
});

Deno.test("parseCredential() reads what mintCredential() writes, and nothing else", () => {
  const grantId = newGrantId();
  for (const kind of ["code", "access_token", "refresh_token"] as const) {
    const credential = mintCredential(kind, grantId);
    assert.deepEqual(parseCredential(credential), { kind, grantId });
    assert.equal(parseCredential(credential + "x"), undefined);
    assert.equal(parseCredential("x" + credential), undefined);
    assert.equal(parseCredential(credential.slice(1)), undefined);
  }
  assert.equal(
    parseCredential("tsx" + mintCredential("code", grantId).slice(3)),
    undefined,
  );
});
