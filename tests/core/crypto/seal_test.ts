import assert from "node:assert/strict";
import { compactDecrypt, CompactEncrypt, decodeProtectedHeader } from "jose";
import { newDataKey } from "../../../src/core/oauth/refresh_token.ts";
import { seal, unseal } from "../../../src/core/crypto/crypto.ts";

Deno.test("unseal() gives back what was sealed, with the key and the context", async () => {
  const key = newDataKey();
  for (const context of ["grant", undefined]) {
    const sealed = await seal(key, "a provider's token", context);
    assert.equal(await unseal(key, sealed, context), "a provider's token");
    assert(!sealed.includes("provider"));
  }
});

Deno.test("unseal() refuses another key, another context, another header, a changed bit and a shorter tag", async () => {
  const key = newDataKey();
  const sealed = await seal(key, "text", "grant");
  await assert.rejects(unseal(newDataKey(), sealed, "grant"));
  await assert.rejects(unseal(key, sealed, "other"));
  await assert.rejects(unseal(key, sealed));
  // Its last character holds bits that mean nothing (RFC 4648 §3.5).
  const last = sealed.at(-1)!.charCodeAt(0);
  const spelt = sealed.slice(0, -1) + String.fromCharCode(last + 1);
  await assert.rejects(unseal(key, spelt, "grant"));
  const parts = sealed.split(".");
  const [head] = (await seal(key, "text", "other")).split(".");
  await assert.rejects(
    unseal(key, [head, ...parts.slice(1)].join("."), "other"),
  );
  const { kid } = decodeProtectedHeader(sealed);
  const withHeader = async (more: { cty?: string }) =>
    await new CompactEncrypt(new Uint8Array())
      .setProtectedHeader({ alg: "dir", enc: "A256GCM", kid, ...more })
      .encrypt(key);
  assert.equal(await unseal(key, await withHeader({}), "grant"), "");
  const more = await withHeader({ cty: "text" });
  await assert.rejects(unseal(key, more, "grant"));
  // Twelve bytes, of the sixteen that are the tag.
  const cut = [...parts.slice(0, 4), parts[4].slice(0, 16)].join(".");
  await assert.rejects(unseal(key, cut, "grant"));
  parts[3] = (parts[3][0] === "A" ? "B" : "A") + parts[3].slice(1);
  await assert.rejects(unseal(key, parts.join("."), "grant"));
});

Deno.test("a JWE library opens what seal() has sealed", async () => {
  const key = newDataKey();
  const sealed = await seal(key, "a provider's token", "grant");
  const { plaintext } = await compactDecrypt(sealed, key);
  assert.equal(new TextDecoder().decode(plaintext), "a provider's token");
});

Deno.test("seal() shows nothing of the context, and nothing to compare a guess with", async () => {
  const kids = [];
  for (const key of [newDataKey(), newDataKey()]) {
    const sealed = await seal(key, "text", "github:42");
    const { kid, ...rest } = decodeProtectedHeader(sealed);
    assert.deepEqual(rest, { alg: "dir", enc: "A256GCM" });
    assert.match(kid!, /^[\w-]{43}$/);
    kids.push(kid);
  }
  assert.notEqual(kids[0], kids[1]);
});

Deno.test("unseal() refuses what is no base64url, and decodes no more than the ends of five parts", async () => {
  const key = newDataKey();
  const sealed = await seal(key, "text");
  const { atob } = globalThis;
  const decoded: string[] = [];
  globalThis.atob = (text) => {
    decoded.push(text);
    return atob(text);
  };
  try {
    for (
      const wrong of [
        ".".repeat(100),
        `${sealed}.`,
        `${"a".repeat(1000)}.b.c.d.e`,
        sealed.replace(/\.(?=[^.]*$)/, ".+/=="),
        sealed.replace(/\.(?=[^.]*$)/, ". "),
      ]
    ) {
      await assert.rejects(unseal(key, wrong));
    }
    assert(decoded.every(({ length }) => length < 4));
    assert(decoded.length <= 20, `${decoded.length} parts were decoded`);
  } finally {
    globalThis.atob = atob;
  }
});

Deno.test("unseal() needs no Uint8Array.fromBase64(), which Node.js 24 has not", async () => {
  const key = newDataKey();
  const sealed = await seal(key, "text");
  const { fromBase64 } = Uint8Array;
  Object.assign(Uint8Array, { fromBase64: undefined });
  try {
    assert.equal(await unseal(key, sealed), "text");
  } finally {
    Object.defineProperty(Uint8Array, "fromBase64", {
      value: fromBase64,
      writable: true,
      configurable: true,
    });
  }
});
