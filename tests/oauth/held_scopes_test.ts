import assert from "node:assert/strict";
import type { Grant } from "../../src/oauth/grant.ts";
import { heldScopes } from "../../src/oauth/held_scopes.ts";
import {
  parsePermissions,
  permissionsOf,
} from "../../src/oauth/permissions.ts";

const NOW = 1_800_000_000;
const HERE = {
  issuer: "https://tools.example.com",
  resource: "https://tools.example.com/mcp",
};
const SUPPORTED = ["mail:read", "files"];

const GRANT: Grant = {
  ...HERE,
  id: "g",
  subject: "github:42",
  identity: { subject: "42" },
  clientId: "app",
  clientName: "App",
  scopes: SUPPORTED,
  status: "active",
  createdAt: NOW,
  usedAt: NOW,
  endsAt: NOW + 3600,
  expiresAt: NOW + 3600,
};
const MACHINE: Grant = { ...GRANT, kind: "client", clientId: "ci" };

function permitted(text: string) {
  const { rules } = parsePermissions(text, SUPPORTED);
  return permissionsOf({ rules, supported: SUPPORTED });
}

function held(
  options: Partial<Parameters<typeof heldScopes>[0]> = {},
  grant = GRANT,
  scopes?: readonly string[],
) {
  const mayHold = heldScopes({
    ...HERE,
    allowedUsers: [],
    machines: new Set(["ci"]),
    assertionIssuers: [],
    ...options,
  });
  return mayHold(grant, scopes);
}

Deno.test("heldScopes() leaves a grant all that it has where no one set rules", () => {
  assert.deepEqual(held(), { scopes: SUPPORTED });
  assert.deepEqual(held({ allowedUsers: ["42"] }), {
    scopes: SUPPORTED,
  });
});

Deno.test("heldScopes() gives an older token no more than its grant has now", () => {
  const narrowed = { ...GRANT, scopes: ["files"] };
  assert.deepEqual(held({}, narrowed, SUPPORTED), { scopes: ["files"] });
  assert.deepEqual(held({}, GRANT, ["files"]), { scopes: ["files"] });
});

Deno.test("heldScopes() cuts a grant to what its person may have today", () => {
  const permissions = permitted("42=files");
  assert.deepEqual(held({ permissions }), {
    scopes: ["files"],
    ceiling: ["files"],
  });
  assert.equal(held({ permissions: permitted("43=files") }), undefined);
  // A grant that never opened anything loses nothing.
  const bare = { ...GRANT, scopes: ["offline_access"] };
  assert.notEqual(
    held({ permissions: permitted("43=files") }, bare),
    undefined,
  );
});

Deno.test("heldScopes() leaves nothing to a grant of another server, or an ended one", () => {
  assert.equal(held({ issuer: "https://other.example.com" }), undefined);
  assert.equal(held({}, { ...GRANT, status: "closed" }), undefined);
});

Deno.test("heldScopes() leaves nothing to a person who may not sign in any more", () => {
  assert.equal(held({ allowedUsers: ["43"] }), undefined);
});

Deno.test("heldScopes() judges a machine by its client, and no one's rules", () => {
  const permissions = permitted("43=files");
  const allowedUsers = ["43"];
  assert.deepEqual(held({ allowedUsers }, MACHINE), { scopes: SUPPORTED });
  assert.deepEqual(held({ permissions }, MACHINE), {
    scopes: SUPPORTED,
    ceiling: SUPPORTED,
  });
  assert.equal(held({ machines: new Set() }, MACHINE), undefined);
  // A person's grant does not depend on a machine with its client's name.
  assert.deepEqual(held({ machines: new Set() }), { scopes: SUPPORTED });
});

Deno.test("heldScopes() believes an identity provider as long as it is trusted", () => {
  const assertedBy = "https://id.example#acme";
  const grant: Grant = { ...GRANT, kind: "assertion", assertedBy };
  const acme = { issuer: "https://id.example", tenant: "acme" };
  assert.deepEqual(held({ assertionIssuers: [acme] }, grant), {
    scopes: SUPPORTED,
  });
  for (const trusted of [[], [{ issuer: acme.issuer }]]) {
    assert.equal(held({ assertionIssuers: trusted }, grant), undefined);
  }
});
