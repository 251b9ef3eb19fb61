import assert from "node:assert/strict";
import {
  effectiveScopesBy,
  type Grant,
} from "../../../src/core/oauth/grant.ts";
import { parseConfiguredClients } from "../../../src/core/oauth/configured_client.ts";
import { parseListEntry } from "../../../src/core/oauth/list_entry.ts";
import { known } from "../../kit/known.ts";
import {
  parsePermissions,
  permissionsOf,
} from "../../../src/core/oauth/permissions.ts";

const NOW = 1_800_000_000;
const BASE_URL = "https://tools.example.com";
const SUPPORTED = ["mail:read", "files"];

const GRANT: Grant = {
  issuer: BASE_URL,
  resource: `${BASE_URL}/mcp`,
  id: "g",
  subject: "github:42",
  identity: { subject: "42" },
  provider: "github",
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

function listed(...entries: string[]) {
  return entries.map((entry) =>
    parseListEntry(entry, known("github"), { takes: ["client"] })
  );
}

function permitted(text: string) {
  const { rules } = parsePermissions(text, SUPPORTED, known("github"));
  return permissionsOf({ rules, supported: SUPPORTED });
}

/** The clients of the operator: an app, and a machine with these scopes. */
function clients(...scopes: string[]) {
  const app = { client_id: "app", redirect_uris: ["https://app.example/cb"] };
  const machine = {
    client_id: "ci",
    grant_types: ["client_credentials"],
    client_secret_sha256: "0".repeat(64),
    scope: scopes.join(" "),
  };
  return parseConfiguredClients(JSON.stringify([app, machine]), () => "");
}

const [APP, CI] = clients(...SUPPORTED);

function held(
  options: Partial<Parameters<typeof effectiveScopesBy>[0]> = {},
  grant = GRANT,
  scopes?: readonly string[],
) {
  const effectiveScopes = effectiveScopesBy({
    blocked: [],
    baseUrl: BASE_URL,
    allowedUsers: [],
    providers: [{ id: "github" }],
    clients: [APP, CI],
    metadataDocuments: { enabled: true, allowedDomains: [] },
    assertionIssuers: [],
    ...options,
  });
  return effectiveScopes(grant, scopes);
}

Deno.test("effectiveScopesBy() leaves a grant all that it has where no one set rules", () => {
  assert.deepEqual(held(), { scopes: SUPPORTED });
  assert.deepEqual(held({ allowedUsers: listed("42") }), { scopes: SUPPORTED });
});

Deno.test("effectiveScopesBy() gives an older token no more than its grant has now", () => {
  const narrowed = { ...GRANT, scopes: ["files"] };
  assert.deepEqual(held({}, narrowed, SUPPORTED), { scopes: ["files"] });
  assert.deepEqual(held({}, GRANT, ["files"]), { scopes: ["files"] });
});

Deno.test("effectiveScopesBy() cuts a grant to what its person may have today", () => {
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

Deno.test("effectiveScopesBy() leaves nothing to a grant of another server, or an ended one", () => {
  assert.equal(held({ baseUrl: "https://other.example.com" }), undefined);
  assert.equal(held({}, { ...GRANT, status: "closed" }), undefined);
});

Deno.test("effectiveScopesBy() leaves nothing to a person who may not sign in any more", () => {
  assert.equal(held({ allowedUsers: listed("43") }), undefined);
});

Deno.test("effectiveScopesBy() judges a machine by its client, and no one's rules", () => {
  const permissions = permitted("43=files");
  const allowedUsers = listed("43");
  assert.deepEqual(held({ allowedUsers }, MACHINE), { scopes: SUPPORTED });
  assert.deepEqual(held({ permissions }, MACHINE), {
    scopes: SUPPORTED,
    ceiling: SUPPORTED,
  });
  assert.equal(held({ clients: [APP] }, MACHINE), undefined);
  assert.equal(held({ clients: [APP], permissions }, MACHINE), undefined);
  // A person's grant does not depend on a machine with its client's name.
  assert.deepEqual(held({ clients: [APP] }), { scopes: SUPPORTED });
});

Deno.test("effectiveScopesBy() believes an identity provider as long as it is trusted", () => {
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

Deno.test("effectiveScopesBy() leaves nothing to who signed in at another provider", () => {
  const token: Grant = { ...GRANT, kind: "token", clientId: "" };
  for (const grant of [GRANT, token]) {
    assert.deepEqual(held({}, grant), { scopes: SUPPORTED });
    assert.equal(held({ providers: [{ id: "gitlab" }] }, grant), undefined);
    // One tenant is not all of them.
    assert.equal(
      held({ providers: [{ id: "https://github.example.com" }] }, grant),
      undefined,
    );
  }
});

Deno.test("effectiveScopesBy() leaves nothing to a client that the operator took away", () => {
  for (const kind of [undefined, "assertion"] as const) {
    const grant: Grant = { ...GRANT, kind, assertedBy: "https://id.example" };
    const assertionIssuers = [{ issuer: "https://id.example" }];
    assert(held({ assertionIssuers }, grant));
    const options = { assertionIssuers, clients: [CI] };
    assert.equal(held(options, grant), undefined);
  }
});

Deno.test("effectiveScopesBy() cuts a machine to the scopes of its entry", () => {
  assert.deepEqual(held({ clients: clients("files") }, MACHINE), {
    scopes: ["files"],
  });
  const permissions = permitted("*=*");
  assert.deepEqual(
    held({ clients: clients("files"), permissions }, MACHINE),
    { scopes: ["files"], ceiling: ["files"] },
  );
  // With nothing left it asks for another token, which tells it so.
  assert.equal(held({ clients: clients() }, MACHINE), undefined);
  const bare = { ...MACHINE, scopes: [] };
  assert.deepEqual(held({ clients: clients() }, bare), { scopes: [] });
});

Deno.test("effectiveScopesBy() leaves nothing to who is blocked, or whose client is", () => {
  for (
    const entry of ["github:42", "client:app", "jo@example.com", "@example.com"]
  ) {
    const blocked = entry === "client:app"
      ? [{ kind: "client", clientId: "app" } as const]
      : listed(entry);
    // Its address is not verified: it is blocked all the same.
    const identity = { subject: "42", email: "Jo@example.com" };
    assert.equal(held({ blocked }, { ...GRANT, identity }), undefined, entry);
  }
  for (const entry of ["github:43", "client:intranet"]) {
    assert.deepEqual(held({ blocked: listed(entry) }), { scopes: SUPPORTED });
  }
  const blocked = [{ kind: "client", clientId: "ci" } as const];
  assert.equal(held({ blocked }, MACHINE), undefined);
  assert.deepEqual(
    held({ blocked: [{ kind: "client", clientId: "" }] }, {
      ...GRANT,
      kind: "token",
      clientId: "",
    }),
    { scopes: SUPPORTED },
  );
});
