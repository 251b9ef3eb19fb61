import assert from "node:assert/strict";
import {
  mintCredential,
  newGrantId,
  parseCredential,
} from "../../src/oauth/credential.ts";
import {
  deriveKey,
  newDataKey,
  seal,
  unseal,
  unwrapDataKey,
  wrapDataKey,
} from "../../src/oauth/seal.ts";

Deno.test("unseal() gives back what was sealed, with the key and the context", async () => {
  const key = newDataKey();
  const sealed = await seal(key, "grant", "a provider's token");
  assert.equal(await unseal(key, "grant", sealed), "a provider's token");
  assert(!sealed.includes("provider"));
});

Deno.test("unseal() refuses another key, another context and a changed bit", async () => {
  const key = newDataKey();
  const sealed = await seal(key, "grant", "text");
  await assert.rejects(unseal(newDataKey(), "grant", sealed));
  await assert.rejects(unseal(key, "other", sealed));
  const parts = sealed.split(".");
  const [head] = (await seal(key, "other", "text")).split(".");
  await assert.rejects(
    unseal(key, "other", [head, ...parts.slice(1)].join(".")),
  );
  parts[3] = (parts[3][0] === "A" ? "B" : "A") + parts[3].slice(1);
  await assert.rejects(unseal(key, "grant", parts.join(".")));
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
    assert.equal(parseCredential(credential.slice(1)), undefined);
  }
  assert.equal(
    parseCredential("tsx" + mintCredential("code", grantId).slice(3)),
    undefined,
  );
});
