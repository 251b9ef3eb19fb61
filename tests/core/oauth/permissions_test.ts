import assert from "node:assert/strict";
import type { Identity } from "../../../src/core/caller.ts";
import { parseMembership } from "../../../src/core/oauth/person.ts";
import { known } from "../../kit/known.ts";
import {
  parsePermissions,
  permissionsOf,
} from "../../../src/core/oauth/permissions.ts";

const SUPPORTED = ["mail:read", "mail:send", "files"];

const JO: Identity = {
  subject: "42",
  email: "jo@example.com",
  emailVerified: true,
  groups: ["Staff", "cn=admins,ou=groups"],
  roles: ["editor"],
  organizations: ["acme", "id:9919"],
  teams: ["acme/on-call"],
};

function rulesOf(text: string) {
  const { rules, complaints } = parsePermissions(
    text,
    SUPPORTED,
    known("github"),
  );
  assert.deepEqual(complaints, []);
  return permissionsOf({ rules, supported: SUPPORTED })!;
}

function ceiling(text: string, identity: Identity = JO) {
  return rulesOf(text).ceiling({
    subject: `github:${identity.subject}`,
    identity,
  });
}

for (
  const who of [
    "*",
    "42",
    "github:42",
    "jo@example.com",
    "@Example.com",
    "group:Staff",
    "group:cn=admins,ou=groups",
    "role:editor",
    "role: editor",
    "org:ACME",
    "org:id:9919",
    "team:Acme/On-Call",
  ]
) {
  Deno.test(`ceiling() gives its scopes to who is ${who}`, () => {
    assert.deepEqual(ceiling(`${who}=files`), ["files"]);
    assert.deepEqual(ceiling(` ${who} = * `), SUPPORTED);
  });
}

for (
  const who of [
    "4",
    "o@example.com",
    "@ample.com",
    "group:staff",
    "group:editor",
    "role:Staff",
    "org:acm",
    "org:9919",
    "team:on-call",
  ]
) {
  Deno.test(`ceiling() gives nothing to who is not ${who}`, () => {
    assert.deepEqual(ceiling(`${who}=*`), []);
  });
}

Deno.test("ceiling() is what any entry about a person gives, in the server's order", () => {
  assert.deepEqual(
    ceiling("role:editor=files; 43=mail:send\n@example.com=mail:read files"),
    ["mail:read", "files"],
  );
  assert.deepEqual(ceiling("*="), []);
});

Deno.test("an address that is not verified is no one's", () => {
  const identity = { ...JO, emailVerified: false };
  assert.deepEqual(ceiling("jo@example.com=*;@example.com=*", identity), []);
});

Deno.test("parsePermissions() tells everything that is wrong", () => {
  const { complaints } = parsePermissions(
    "mail:read; =files; a=mail:write files; ;\n",
    SUPPORTED,
    known(),
  );
  assert.deepEqual(complaints.map(({ got, why }) => [got, why]), [
    ["mail:read", "this is not who=scopes"],
    ["=files", "this is not who=scopes"],
    ["a=mail:write files", "nothing needs the scope mail:write"],
  ]);
});

Deno.test("permissionsOf() has nothing to say where no one set any", () => {
  assert.equal(permissionsOf({ supported: SUPPORTED }), undefined);
});

Deno.test("an author's rule and an operator's allow what both allow", () => {
  const { rules } = parsePermissions("*=mail:read files", SUPPORTED, known());
  const person = { subject: "x:1", identity: { subject: "1" } };
  const both = permissionsOf({
    rules,
    decide: () => ["files", "mail:send", "unknown"],
    supported: SUPPORTED,
  })!;
  assert.deepEqual(both.ceiling(person), ["files"]);
  const author = permissionsOf({ decide: () => "all", supported: SUPPORTED })!;
  assert.deepEqual(author.ceiling(person), SUPPORTED);
});

Deno.test("everyones is what everyone is granted", () => {
  assert.deepEqual(rulesOf("*=files; 42=mail:read").everyones, ["files"]);
  const author = permissionsOf({ decide: () => [], supported: SUPPORTED })!;
  assert.deepEqual(author.everyones, SUPPORTED);
});

Deno.test("reduce() leaves of an identity what a rule names", () => {
  const permissions = rulesOf("group:Staff=files;org:Acme=files;42=files");
  assert.deepEqual(permissions.reduce(JO), {
    subject: "42",
    email: "jo@example.com",
    emailVerified: true,
    groups: ["Staff"],
    organizations: ["acme"],
  });
  assert.deepEqual([...permissions.memberships], ["groups", "organizations"]);
});

Deno.test("reduce() leaves to an author's rule names of 8192 characters together", () => {
  const author = permissionsOf({ decide: () => "all", supported: SUPPORTED })!;
  const roles = ["a".repeat(4096), "b".repeat(4096), "c"];
  assert.deepEqual(
    author.reduce({ subject: "1", roles }).roles,
    roles.slice(0, 2),
  );
});

Deno.test("parseMembership() takes no word before the kind", () => {
  assert.deepEqual(parseMembership("my-role:editor"), {
    kind: "groups",
    name: "my-role:editor",
    isPrefixed: false,
  });
});

Deno.test("reduce() leaves to an author's rule what fits into a grant", () => {
  const { rules } = parsePermissions("group:last=files", SUPPORTED, known());
  const permissions = permissionsOf({
    rules,
    decide: () => "all",
    supported: SUPPORTED,
  })!;
  const groups = Array.from({ length: 500 }, (_, n) => `${n}`.padEnd(100));
  const kept = permissions.reduce({
    subject: "1",
    groups: [...groups, "last"],
  });
  assert.equal(kept.groups![0], "last");
  assert(kept.groups!.length > 50 && kept.groups!.length < 100);
  // Only the kinds that an operator named are worth asking a provider for.
  assert.deepEqual([...permissions.named], ["groups"]);
  assert.equal(permissions.memberships.size, 4);
});
