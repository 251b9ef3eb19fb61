import assert from "node:assert/strict";
import { claimAt } from "../../../src/auth/rules/claim.ts";

const CLAIMS = {
  scope: "a",
  "https://example.com/roles": ["b"],
  realm_access: { roles: ["c"] },
  "realm_access.roles": ["d"],
  resource_access: { "my.app": { roles: ["e"] } },
  list: ["f"],
  nothing: null,
};

for (
  const [name, expected] of [
    ["scope", "a"],
    ["https://example.com/roles", ["b"]],
    ["realm_access.roles", ["d"]],
    ["list.0", "f"],
    ["scope.length", undefined],
    ["missing", undefined],
    ["missing.roles", undefined],
    ["nothing.roles", undefined],
    ["realm_access.missing", undefined],
    ["constructor", undefined],
    ["realm_access.constructor.name", undefined],
    ["__proto__", undefined],
  ] as const
) {
  Deno.test(`claimAt() finds ${JSON.stringify(expected)} by ${name}`, () => {
    assert.deepEqual(claimAt(CLAIMS, name), expected);
  });
}

Deno.test("claimAt() goes into an object by dots where no name holds them", () => {
  const { realm_access } = CLAIMS;
  assert.deepEqual(claimAt({ realm_access }, "realm_access.roles"), ["c"]);
});
