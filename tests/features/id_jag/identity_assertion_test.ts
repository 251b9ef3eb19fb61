import assert from "node:assert/strict";
import { checkIdentityAssertion } from "../../../src/features/id_jag/identity_assertion.ts";
import { parseIssuer } from "../../../src/core/oauth/subject.ts";
import { printIssuer } from "../../../src/core/oauth/subject.ts";

const NOW = 1_800_000_000;
const BASE_URL = "https://tools.example.com";

const GOOD = {
  aud: BASE_URL,
  client_id: "app",
  sub: "42",
  jti: "once",
  iat: NOW,
  exp: NOW + 300,
  resource: `${BASE_URL}/mcp`,
  scope: "mail:read files",
};

function check(claims: Record<string, unknown>, tenant?: string) {
  return checkIdentityAssertion({ ...GOOD, ...claims }, {
    clientId: "app",
    baseUrl: BASE_URL,
    now: NOW,
    tenant,
  });
}

Deno.test("checkIdentityAssertion() reads what an assertion allows", () => {
  assert.deepEqual(check({}), {
    scopes: ["mail:read", "files"],
    jti: "once",
    expiresAt: NOW + 360,
  });
  assert(!("scopes" in check({ scope: undefined })));
});

for (
  const [what, claims, tenant] of [
    ["a slash behind the audience", { aud: `${BASE_URL}/` }],
    ["a list of one audience", { aud: [BASE_URL] }],
    ["no resource", { resource: undefined }],
    ["a list of resources that are ours", { resource: [BASE_URL] }],
    ["a clock a minute ahead", { iat: NOW + 60 }],
    ["an hour of life", { exp: NOW + 3600 }],
    ["the longest texts", { sub: "s".repeat(2048), jti: "j".repeat(2048) }],
    ["the tenant that is meant", { tenant: "acme" }, "acme"],
  ] as const
) {
  Deno.test(`checkIdentityAssertion() takes ${what}`, () => {
    check(claims, tenant);
  });
}

for (
  const [what, claims, message, tenant] of [
    ["another audience", { aud: "https://other.example.com" }, /^aud/],
    ["a second audience", { aud: [BASE_URL, "https://o.example"] }, /^aud/],
    ["no audience", { aud: [] }, /^aud/],
    ["another client", { client_id: "other" }, /^client_id/],
    ["no person", { sub: "" }, /^sub/],
    ["a person who is a number", { sub: 42 }, /^sub/],
    ["a name without end", { sub: "s".repeat(2049) }, /^sub/],
    ["no jti", { jti: undefined }, /^jti/],
    ["a jti that is a number", { jti: 7 }, /^jti/],
    ["no iat", { iat: undefined }, /^iat/],
    ["a clock too far ahead", { iat: NOW + 61 }, /^iat/],
    ["an end that is a text", { exp: `${NOW + 300}` }, /^exp/],
    ["an end that never comes", { exp: Infinity }, /^exp/],
    ["an end too far away", { exp: NOW + 3601 }, /^exp/],
    ["a tenant that no one named", { tenant: "acme" }, /^tenant/],
    ["no tenant", {}, /^tenant/, "acme"],
    ["a key that it is bound to", { cnf: {} }, /^cnf/],
    ["more than scopes", { authorization_details: [] }, /^authorization_d/],
    ["another resource", { resource: "https://other.example" }, /^resource/],
    ["an empty resource", { resource: [BASE_URL, ""] }, /^resource/],
    ["a resource that is a number", { resource: 1 }, /^resource/],
    ["a list of scopes", { scope: ["files"] }, /^scope/],
  ] as const
) {
  Deno.test(`checkIdentityAssertion() refuses ${what}`, () => {
    assert.throws(() => check(claims, tenant), {
      code: "invalid_grant",
      description: message,
    });
  });
}

Deno.test("parseIssuer() reads what printIssuer() wrote", () => {
  for (
    const [text, trusted] of [
      ["https://id.example", { issuer: "https://id.example" }],
      ["https://id.example#acme", {
        issuer: "https://id.example",
        tenant: "acme",
      }],
      ["https://id.example#a#b", {
        issuer: "https://id.example",
        tenant: "a#b",
      }],
    ] as const
  ) {
    assert.equal(printIssuer(trusted), text);
    assert.deepEqual(parseIssuer(text), trusted);
  }
  assert.deepEqual(parseIssuer("https://id.example#"), {
    issuer: "https://id.example",
  });
});
