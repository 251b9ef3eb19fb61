/** The scopes that services say they gave, each in its own way. */
import assert from "node:assert/strict";
import {
  parseGrantedScopes,
  scopesNotGiven,
} from "../../../src/core/oauth/given_scopes.ts";

const DRIVE = "https://www.googleapis.com/auth/drive";

/** Scopes asked for, the `scope` of the answer, and those it does not name. */
const ANSWERS: [asked: string, answer: string | undefined, left: string][] = [
  ["read write", undefined, ""],
  ["read write", "read", "write"],
  ["read write", "", "read write"],
  ["read write", "WRITE Read", ""],
  // Slack and Linear.
  ["chat:write users:read", "users:read,chat:write", ""],
  ["read write", "read,", "write"],
  // Google.
  [
    `openid email ${DRIVE} ${DRIVE}.file`,
    `openid https://www.googleapis.com/auth/userinfo.email ${DRIVE}.file`,
    DRIVE,
  ],
  // Microsoft.
  [
    "openid offline_access Mail.Read Files.Read",
    "profile openid https://graph.microsoft.com/Mail.Read",
    "Files.Read",
  ],
  ["https://graph.microsoft.com/Mail.Read", "Mail.Read", ""],
  [
    "https://one.example/read",
    "https://two.example/read",
    "https://one.example/read",
  ],
  // GitHub.
  ["user user:email repo:status public_repo", "repo,user", ""],
  ["read:org write:org", "admin:org", ""],
  ["read:org", "write:org", ""],
  ["admin:org write:org", "read:org", "admin:org write:org"],
  ["repo", "public_repo", "repo"],
];

for (const [asked, answer, left] of ANSWERS) {
  Deno.test(`scopesNotGiven() of ${asked} finds in ${JSON.stringify(answer)} that ${left || "none"} is not named`, () => {
    const unnamed = scopesNotGiven(
      asked.split(" "),
      parseGrantedScopes({ scope: answer }),
    );
    assert.equal(unnamed.join(" "), left);
  });
}

Deno.test("parseGrantedScopes() keeps what may be a scope, each once, and not too many", () => {
  assert.deepEqual(parseGrantedScopes({ scope: 'a "b" ü a' }), ["a"]);
  const many = Array.from({ length: 99 }, (_, nth) => `s${nth}`);
  assert.equal(parseGrantedScopes({ scope: many.join(" ") })?.length, 50);
  assert.deepEqual(parseGrantedScopes({ scope: "x".repeat(201) }), []);
});

Deno.test("parseGrantedScopes() takes no token for a scope", () => {
  const tokens = { accessToken: "at-1", refreshToken: "rt-1" };
  const scope = "read at-1 x:rt-1";
  assert.deepEqual(parseGrantedScopes({ ...tokens, scope }), ["read"]);
});
