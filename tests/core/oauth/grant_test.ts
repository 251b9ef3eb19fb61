import assert from "node:assert/strict";
import { newGrantId } from "../../../src/core/oauth/credential.ts";
import { documentUrl } from "../../../src/core/oauth/client.ts";
import {
  bindingOf,
  callerOf,
  closeGrant,
  extendGrant,
  type Grant,
  hasSingleToken,
  isGrantOf,
  ledgerIdOf,
  narrowGrant,
  pauseGrant,
  resumeGrant,
} from "../../../src/core/oauth/grant.ts";
import {
  makeMachineGrant,
  openGrant,
} from "../../../src/core/oauth/new_grant.ts";
import {
  DEFAULT_LIFETIMES,
  GRANT_TTL_SECONDS,
} from "../../../src/core/oauth/lifetimes.ts";

const NOW = 1_800_000_000;
const HERE = {
  issuer: "https://tools.example.com",
  resource: "https://tools.example.com/mcp",
};

const pending = openGrant({
  clientId: "client",
  redirectUri: "https://app.example.com/cb",
  scopes: ["mail:read"],
  resource: HERE.resource,
  codeChallenge: "x",
}, {
  lifetimes: DEFAULT_LIFETIMES,
  issuer: HERE.issuer,
  provider: "github",
  identity: { subject: "42" },
  clientName: "App",
  now: NOW,
});
const active = extendGrant(pending, {
  lifetimes: DEFAULT_LIFETIMES,
  refreshable: true,
  now: NOW,
});

Deno.test("isGrantOf() wants a grant that is active, and made here for it", () => {
  assert(isGrantOf(active, HERE));
  assert(!isGrantOf(pending, HERE));
  assert(!isGrantOf(closeGrant(active, NOW), HERE));
  const elsewhere = "https://other.example.com";
  assert(!isGrantOf(active, { ...HERE, issuer: elsewhere }));
  assert(!isGrantOf(active, { ...HERE, resource: `${elsewhere}/mcp` }));
});

Deno.test("extendGrant() keeps a grant for a month, but never past its end", () => {
  assert.equal(active.expiresAt, NOW + DEFAULT_LIFETIMES.idleSeconds);
  const late = extendGrant(active, {
    lifetimes: DEFAULT_LIFETIMES,
    refreshable: true,
    now: NOW + GRANT_TTL_SECONDS - 60,
  });
  assert.equal(late.expiresAt, NOW + GRANT_TTL_SECONDS);
});

Deno.test("extendGrant() keeps a grant without refresh tokens as long as its access token", () => {
  const once = extendGrant(pending, {
    lifetimes: DEFAULT_LIFETIMES,
    refreshable: false,
    now: NOW,
  });
  assert.equal(once.expiresAt, NOW + DEFAULT_LIFETIMES.accessTokenSeconds);
});

Deno.test("bindingOf() tells persons, issuers and resources apart, and no clients", () => {
  const other = (change: Partial<Grant>) => bindingOf({ ...active, ...change });
  assert.equal(other({ clientId: "another", id: "x" }), bindingOf(active));
  for (const name of ["issuer", "resource", "subject"] as const) {
    assert.notEqual(other({ [name]: "another" }), bindingOf(active));
  }
});

Deno.test("documentUrl() refuses a password, with a name or without", () => {
  assert(documentUrl("https://app.example.com/c.json"));
  assert(!documentUrl("https://:pass@app.example.com/c.json"));
  assert(!documentUrl("https://user@app.example.com/c.json"));
});

Deno.test("pauseGrant() tells since when, and resumeGrant() leaves nothing of it", () => {
  const paused = pauseGrant(active, NOW + 5);
  assert.deepEqual(paused, { ...active, pausedAt: NOW + 5 });
  assert.equal(pauseGrant(paused, NOW + 9).pausedAt, NOW + 5);
  assert.deepEqual(resumeGrant(paused), active);
  // A refresh does not end a pause.
  const used = extendGrant(paused, {
    lifetimes: DEFAULT_LIFETIMES,
    refreshable: true,
    now: NOW + 20,
  });
  assert.equal(used.pausedAt, NOW + 5);
});

Deno.test("narrowGrant() takes scopes away, and remembers what they were", () => {
  const scopes = ["a", "b", "c", "offline_access"];
  const grant: Grant = { ...active, scopes };
  const once = narrowGrant(grant, ["a", "b"]);
  assert.deepEqual(once.scopes, ["a", "b", "offline_access"]);
  const twice = narrowGrant(once, ["c", "b"]);
  assert.deepEqual(twice.scopes, ["b", "offline_access"]);
  assert.deepEqual([once.grantedScopes, twice.grantedScopes], [scopes, scopes]);
  assert.equal(narrowGrant(grant, ["a", "b", "c", "d"]), grant);
});

Deno.test("ledgerIdOf() is a grant's own, and one for all of a machine's", () => {
  assert.equal(ledgerIdOf(active), active.id);
  const [one, other] = ["ci", "other"].map((clientId) => {
    const machine = { ...HERE, clientId, clientName: "", scopes: [], now: NOW };
    return [
      makeMachineGrant(machine, DEFAULT_LIFETIMES),
      makeMachineGrant(machine, DEFAULT_LIFETIMES),
    ].map(ledgerIdOf);
  });
  assert.equal(one[0], one[1]);
  assert.notEqual(one[0], other[0]);
});

Deno.test("ledgerIdOf() is one for all that an assertion gives a person in a client", () => {
  const listed = (change: Partial<Grant> = {}) =>
    ledgerIdOf({ ...active, kind: "assertion", id: newGrantId(), ...change });
  assert.equal(listed(), listed());
  assert.notEqual(listed(), listed({ clientId: "other" }));
  assert.notEqual(listed(), listed({ subject: "github:43" }));
});

Deno.test("hasSingleToken() is what ends with its token", () => {
  const passing = ([undefined, "token", "client", "assertion"] as const)
    .filter((kind) => hasSingleToken({ kind }));
  assert.deepEqual(passing, ["client", "assertion"]);
});

Deno.test("callerOf() names the door, and the client where there is one", () => {
  const byClient = callerOf(active, { scopes: ["files"] });
  assert.equal(byClient.door, "oauth");
  assert.equal(byClient.clientId, "client");
  const byToken = callerOf({ ...active, kind: "token" }, { scopes: ["files"] });
  assert.equal(byToken.door, "token");
  assert(!("clientId" in byToken));
});
