import assert from "node:assert/strict";
import {
  grantableScopes,
  narrowScopes,
  parseScope,
  unionOfScopes,
} from "../../src/oauth/scope.ts";

const SUPPORTED = ["mail:read", "mail:send"];

Deno.test("parseScope() splits at spaces and drops repetitions", () => {
  assert.deepEqual(parseScope(" mail:read  mail:send mail:read "), SUPPORTED);
  assert.deepEqual(parseScope(undefined), []);
});

Deno.test("parseScope() refuses characters that no scope may have", () => {
  for (const text of ['a"b', "a\\b", "a\tb", "ä", "a\u007fb"]) {
    assert.throws(() => parseScope(text), { code: "invalid_scope" });
  }
});

Deno.test("grantableScopes() gives everything to who asks for nothing", () => {
  assert.deepEqual(grantableScopes([], SUPPORTED), SUPPORTED);
});

Deno.test("grantableScopes() leaves out what the server does not know", () => {
  assert.deepEqual(
    grantableScopes(["openid", "mail:send", "offline_access"], SUPPORTED),
    ["mail:send", "offline_access"],
  );
  assert.deepEqual(grantableScopes(["claudeai"], SUPPORTED), []);
});

Deno.test("unionOfScopes() keeps each scope once", () => {
  assert.deepEqual(unionOfScopes(["a", "b"], ["b", "c"]), ["a", "b", "c"]);
});

Deno.test("narrowScopes() gives what was granted, or the part asked for", () => {
  const granted = ["mail:read", "mail:send"];
  assert.equal(narrowScopes([], granted, SUPPORTED), granted);
  assert.deepEqual(narrowScopes(["mail:read", "openid"], granted, SUPPORTED), [
    "mail:read",
  ]);
});

Deno.test("narrowScopes() refuses more than was granted", () => {
  assert.throws(() => narrowScopes(SUPPORTED, ["mail:read"], SUPPORTED), {
    code: "invalid_scope",
  });
});
