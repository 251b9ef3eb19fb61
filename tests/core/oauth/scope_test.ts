import assert from "node:assert/strict";
import { scopesOf } from "../../../src/authoring/scope.ts";
import {
  grantableScopes,
  narrowScopes,
  opensNoTool,
  parseScope,
  scopesWithin,
  unionOfScopes,
} from "../../../src/core/oauth/scope.ts";

const SUPPORTED = ["mail:read", "mail:send"];
const SCOPES = scopesOf(SUPPORTED);

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
  assert.deepEqual(grantableScopes([], SCOPES), SUPPORTED);
});

Deno.test("grantableScopes() leaves out what the server does not know", () => {
  assert.deepEqual(
    grantableScopes(
      ["openid", "claudeai", "mail:send", "offline_access"],
      SCOPES,
    ),
    ["mail:send", "offline_access"],
  );
});

Deno.test("grantableScopes() refuses a request of which it knows nothing", () => {
  for (
    const requested of [["claudeai"], ["openid", "files:read"], ["Mail:read"]]
  ) {
    assert.throws(() => grantableScopes(requested, SCOPES), {
      code: "invalid_scope",
      description: "scope must name at least one of: mail:read mail:send",
    });
  }
});

Deno.test("grantableScopes() gives no default to who names a scope", () => {
  assert.deepEqual(
    grantableScopes(["openid", "email", "profile"], SCOPES),
    [],
  );
  assert.deepEqual(grantableScopes(["offline_access"], SCOPES), [
    "offline_access",
  ]);
});

Deno.test("grantableScopes() refuses no one where no tool needs a scope", () => {
  assert.deepEqual(
    grantableScopes(["claudeai", "offline_access"], scopesOf([])),
    ["offline_access"],
  );
});

Deno.test("unionOfScopes() keeps each scope once", () => {
  assert.deepEqual(unionOfScopes(["a", "b"], ["b", "c"]), ["a", "b", "c"]);
});

Deno.test("narrowScopes() gives what was granted, or the part asked for", () => {
  const granted = ["mail:read", "mail:send"];
  assert.equal(narrowScopes([], granted), granted);
  assert.deepEqual(narrowScopes(["mail:read"], granted), ["mail:read"]);
});

Deno.test("narrowScopes() refuses more than was granted", () => {
  for (const beyond of ["mail:send", "openid", "offline_access"]) {
    assert.throws(() => narrowScopes(["mail:read", beyond], ["mail:read"]), {
      code: "invalid_scope",
      description: `scope must not go beyond what was granted: ${beyond}`,
    });
  }
});

Deno.test("grantableScopes() refuses no one for scopes that clients request everywhere", () => {
  for (const scope of ["openid", "profile", "email", "address", "phone"]) {
    assert.deepEqual(grantableScopes([scope], SCOPES), []);
  }
});

Deno.test("grantableScopes() leaves to a step-up what an author marked so", () => {
  const scopes = scopesOf(SUPPORTED, {
    "mail:send": { description: "Send mail", stepUp: true },
  });
  assert.deepEqual(grantableScopes([], scopes), ["mail:read"]);
  assert.deepEqual(grantableScopes(["mail:send"], scopes), ["mail:send"]);
});

Deno.test("cutScopes() leaves what is below a ceiling, and offline_access", () => {
  const granted = [...SUPPORTED, "offline_access"];
  assert.equal(scopesWithin(granted, undefined), granted);
  assert.deepEqual(scopesWithin(granted, ["mail:send", "files"]), [
    "mail:send",
    "offline_access",
  ]);
  assert(opensNoTool(scopesWithin(granted, [])));
  assert(!opensNoTool(scopesWithin(granted, SUPPORTED)));
});

Deno.test("narrowScopes() repeats a hundred characters of what it refuses", () => {
  assert.throws(
    () => narrowScopes(["z".repeat(9000)], ["mail:read"]),
    ({ message }: Error) => message.includes("zzz") && message.length < 200,
  );
});
