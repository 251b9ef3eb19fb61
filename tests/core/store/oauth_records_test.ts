import assert from "node:assert/strict";
import { randomId } from "../../../src/core/crypto/crypto.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { accessTokenStore } from "../../../src/core/store/access_tokens.ts";
import { consentStore } from "../../../src/core/store/consents.ts";
import { assertionStore } from "../../../src/core/store/once.ts";
import { authorizationRequestStore } from "../../../src/core/store/authorization_requests.ts";
import { documentStore } from "../../../src/core/store/documents.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { now } from "../../../src/core/clock.ts";
import { upstreamTokenStore } from "../../../src/core/store/upstream_tokens.ts";
import { openGrant } from "../../../src/core/oauth/new_grant.ts";
import {
  DEFAULT_LIFETIMES,
  REFRESH_LEASE_SECONDS,
  SIGN_IN_LEASE_SECONDS,
} from "../../../src/core/oauth/lifetimes.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import {
  ISSUER,
  newClient,
  redeem,
  refresh,
  requestOf,
  signIn,
} from "../../kit/records.ts";
import { test } from "../../kit/databases.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";

const DAY = 86400;

test.inMemory("documentStore fetches once while a document is fresh, however many ask", async ({ kv }) => {
  using time = new FakeTime();
  let fetches = 0;
  const documents = documentStore(
    new Database(kv),
    () => Promise.resolve({ document: ++fetches, expiresAt: now() + 600 }),
  );
  const url = "https://app.example.com/client.json";
  const all = await Promise.all([1, 2, 3].map(() => documents.find(url)));
  assert.deepEqual(all, [1, 1, 1]);
  time.tick(599);
  assert.equal(await documents.find(url), 1);
  time.tick(1);
  assert.equal(await documents.find(url), 2);
});

test.inMemory("documentStore gives a stale copy only to who can do with one", async ({ kv }) => {
  using time = new FakeTime();
  let isUp = true;
  const documents = documentStore(
    new Database(kv),
    () =>
      isUp
        ? Promise.resolve({ document: "first", expiresAt: now() })
        : Promise.reject(new Error("down")),
  );
  await documents.find("a");
  isUp = false;
  time.tick(DAY);
  assert.equal(await documents.find("a", { stale: true }), "first");
  await assert.rejects(documents.find("a"), /down/);
  await assert.rejects(documents.find("b", { stale: true }), /down/);
});

test.inMemory("documentStore answers a failure for ten seconds without another fetch", async ({ kv }) => {
  using time = new FakeTime();
  let fetches = 0;
  const documents = documentStore(
    new Database(kv),
    () => Promise.reject(new Error(`down ${++fetches}`)),
  );
  await assert.rejects(documents.find("a"), /down 1/);
  time.tick(9);
  await assert.rejects(documents.find("a"), /down 1/);
  await assert.rejects(documents.renew("a"), /down 1/);
  await assert.rejects(documents.find("b"), /down 2/);
  time.tick(1);
  await assert.rejects(documents.find("a"), /down 3/);
});

test.inMemory("documentStore remembers no refusal to one network as an answer to another", async ({ kv }) => {
  const documents = documentStore(
    new Database(kv),
    (_, { network }) =>
      network === "busy"
        ? Promise.reject({ isRefused: true })
        : Promise.resolve({ document: "found", expiresAt: now() + DAY }),
  );
  const [first, second] = await Promise.allSettled(
    ["busy", "other"].map((network) => documents.find("a", { network })),
  );
  assert.deepEqual([first.status, second.status], ["rejected", "fulfilled"]);
  await assert.rejects(documents.find("b", { network: "busy" }));
  assert.equal(await documents.find("b", { network: "other" }), "found");
});

for (
  const [what, toldSeconds, keptSeconds] of [
    ["five minutes at least, whatever its headers say", 0, 300],
    ["a day at most", 30 * DAY, DAY],
  ] as const
) {
  test.inMemory(`documentStore keeps a document for ${what}`, async ({ kv }) => {
    using time = new FakeTime();
    let fetches = 0;
    const documents = documentStore(
      new Database(kv),
      () =>
        Promise.resolve({
          document: ++fetches,
          expiresAt: now() + toldSeconds,
        }),
    );
    await documents.find("a");
    time.tick(keptSeconds - 1);
    assert.equal(await documents.find("a"), 1);
    time.tick(1);
    assert.equal(await documents.find("a"), 2);
  });
}

test.inMemory("renew() fetches a fresh document anew, once a minute, and makes do with the old one", async ({ kv }) => {
  using time = new FakeTime();
  let fetches = 0;
  let isUp = true;
  const documents = documentStore(
    new Database(kv),
    () =>
      isUp
        ? Promise.resolve({ document: ++fetches, expiresAt: now() + DAY })
        : Promise.reject(new Error("down")),
  );
  await documents.find("a");
  time.tick(59);
  assert.equal(await documents.renew("a"), 1);
  time.tick(1);
  const all = await Promise.all([1, 2, 3].map(() => documents.renew("a")));
  assert.deepEqual(all, [2, 2, 2]);
  assert.equal(await documents.find("a"), 2);
  isUp = false;
  time.tick(60);
  assert.equal(await documents.renew("a"), 2);
  await assert.rejects(documents.renew("b"), /down/);
});

test.inMemory("documentStore writes nothing of a document that no one signed in with", async ({ kv }) => {
  let fetches = 0;
  const documents = documentStore(
    new Database(kv),
    () => Promise.resolve({ document: ++fetches, expiresAt: now() + DAY }),
  );
  const count = async () =>
    (await Array.fromAsync(kv.list({ prefix: ["document"] }))).length;
  for (let n = 0; n < 251; n++) await documents.find(`${n}`);
  await documents.renew("250");
  assert.equal(await count(), 0);
  // The oldest was dropped for the newest; the others are remembered.
  assert.equal(await documents.find("1"), 2);
  assert.equal(await documents.find("0"), 252);

  await documents.keep("250");
  await documents.keep("unknown");
  assert.equal(await count(), 1);
  const other = documentStore(
    new Database(kv),
    () => Promise.reject(new Error("fetched")),
  );
  assert.equal(await other.find("250"), 251);
});

test.inMemory("documentStore writes down what it fetches again for a document that is kept", async ({ kv }) => {
  using time = new FakeTime();
  let fetches = 0;
  const documents = documentStore(
    new Database(kv),
    () => Promise.resolve({ document: ++fetches, expiresAt: now() }),
  );
  await documents.find("a");
  await documents.keep("a");
  time.tick(DAY);
  await documents.find("a");
  const [{ value }] = await Array.fromAsync(
    kv.list<{ document: number }>({ prefix: ["document"] }),
  );
  assert.equal(value.document, 2);
});

test.inMemory("use() lets one of fifty uses through", async ({ kv }) => {
  const assertion = { issuer: "a", jti: "once", expiresAt: now() + 60 };
  const uses = await Promise.all(
    Array.from(
      { length: 50 },
      () => assertionStore(new Database(kv)).use(assertion),
    ),
  );
  assert.equal(uses.filter(Boolean).length, 1);
  const other = { ...assertion, issuer: "b" };
  assert(await assertionStore(new Database(kv)).use(other));
});

/** Consents until no other consent comes between. */
async function approve(
  database: Database,
  request: ReturnType<typeof requestOf>,
): Promise<void> {
  const consents = consentStore(database);
  for (;;) {
    const write = await consents.add("browser", request);
    if (await database.commit(write)) return;
  }
}

test.inMemory("consentStore keeps every scope of consents that come at once", async ({ kv }) => {
  const database = new Database(kv);
  const consents = consentStore(database);
  const request = requestOf(newClient());
  const scopes = ["a", "b", "c", "d"];
  await Promise.all(
    scopes.map((scope) => approve(database, { ...request, scopes: [scope] })),
  );
  const kept = await consents.find("browser", request);
  assert.deepEqual(kept?.scopes.toSorted(), scopes);
});

test.inMemory("consentStore remembers scopes by browser, client, redirect URI and resource", async ({ kv }) => {
  const database = new Database(kv);
  const consents = consentStore(database);
  const request = requestOf(newClient());
  await approve(database, request);
  await approve(database, { ...request, scopes: ["mail:send"] });
  const consent = await consents.find("browser", request);
  assert.deepEqual(consent?.scopes, ["mail:read", "mail:send"]);
  assert.equal(await consents.find("other", request), undefined);
  for (const member of ["clientId", "redirectUri", "resource"]) {
    assert.equal(
      await consents.find("browser", { ...request, [member]: "other" }),
      undefined,
    );
  }
});

test.inMemory("authorizationRequestStore gives a request to its own browser only", async ({ kv }) => {
  using time = new FakeTime();
  const requests = authorizationRequestStore(new Database(kv));
  const browser = randomId();
  const request = requestOf(newClient());
  const handle = await requests.save(browser, {
    request,
    clientName: "A",
    named: [],
  });
  assert(await requests.find(handle, browser));
  assert.equal(await requests.find(handle, randomId()), undefined);
  assert.equal(await requests.find(randomId(), browser), undefined);
  time.tick(600);
  assert.equal(await requests.find(handle, browser), undefined);
});

test.inMemory("lease() gives a request to one of fifty, and to another when that one died", async ({ kv }) => {
  using time = new FakeTime();
  const requests = authorizationRequestStore(new Database(kv));
  const browser = randomId();
  const request = requestOf(newClient());
  const handle = await requests.save(browser, {
    request,
    clientName: "A",
    named: [],
  });
  const found = async () => (await requests.find(handle, browser))!;
  assert.equal(await requests.lease(await found()), undefined);
  await requests.approve(await found(), { consented: [], provider: "github" });
  const leases = await Promise.all(
    Array.from({ length: 50 }, async () => requests.lease(await found())),
  );
  assert.equal(leases.filter(Boolean).length, 1);
  for (const seconds of [0, SIGN_IN_LEASE_SECONDS - 1]) {
    time.tick(seconds);
    assert.equal(await requests.lease(await found()), undefined);
  }
  time.tick(1);
  const second = await requests.lease(await found());
  assert(second);
  await requests.release(second);
  assert(await requests.lease(await found()));
  // The clock of another process says nothing of this lease.
  for (const seconds of [SIGN_IN_LEASE_SECONDS, -SIGN_IN_LEASE_SECONDS]) {
    time.set(seconds);
    assert.equal(await requests.lease(await found()), undefined);
  }
});

test.inMemory("lease() gives no request that is leased, although another change to it was given up since", async ({ kv }) => {
  const requests = authorizationRequestStore(new Database(kv));
  const browser = randomId();
  const about = { request: requestOf(newClient()), clientName: "A", named: [] };
  const handle = await requests.save(browser, about, "github");
  const found = async () => (await requests.find(handle, browser))!;
  assert(await requests.lease(await found()));
  const late = new Database(kv);
  const approved = { consented: [], provider: "github" };
  assert(
    await authorizationRequestStore(late).approve(await found(), approved),
  );
  late.giveUp(await found());
  await late.idle();
  assert.equal(await requests.lease(await found()), undefined);
});

test.inMemory("listOfSubject() shows active grants, newest first", async ({ kv }) => {
  const grants = grantStore(new Database(kv));
  const client = newClient();
  const ids = [];
  const start = now() - 12;
  for (let n = 0; n < 12; n++) {
    const { code, grant } = await signIn(kv, { client, time: start + n });
    await redeem(new Database(kv), { code, clientId: client.clientId });
    ids.unshift(grant.id);
  }
  await signIn(kv, { client });
  await signIn(kv, { subject: "43" });
  await grants.close(ids[3]);
  ids.splice(3, 1);
  const names = (list: { id: string }[]) => list.map(({ id }) => id);
  assert.deepEqual(names(await grants.listOfSubject("dev:42")), ids);
  assert.deepEqual(
    names(await grants.listOfSubject("dev:42", 2)),
    ids.slice(0, 2),
  );
  const open = await grants.listOpen("dev:42");
  assert.equal(open.length, ids.length + 1, "a code still opens one");
});

test.inMemory("close() takes the provider's tokens with it and leaves a tombstone", async ({ kv }) => {
  const { grantId, find } = await upstreamOf(kv);
  assert((await find())?.tokens);
  const grants = grantStore(new Database(kv));
  await grants.close(grantId);
  await grants.close(grantId);
  assert.equal(await find(), undefined);
  assert.equal((await grants.find(grantId))?.value.status, "closed");
});

/** Gives the provider's tokens of a person who has signed in. */
async function upstreamOf(kv: Deno.Kv) {
  const { code, client: { clientId }, grant } = await signIn(kv, {
    upstreamTokens: "first",
  });
  const { accessToken } = await redeem(new Database(kv), { code, clientId });
  const access = await accessTokenStore(new Database(kv)).find(accessToken);
  const dataKey = await access!.dataKey!();
  const upstream = upstreamTokenStore(new Database(kv));
  return {
    upstream,
    grantId: grant.id,
    find: () => upstream.find({ id: grant.id, dataKey }),
  };
}

test.inMemory("upstreamTokenStore lets one refresh at a time", async ({ kv }) => {
  const { upstream, find } = await upstreamOf(kv);
  const leases = await Promise.all(
    Array.from({ length: 50 }, async () => upstream.lease((await find())!)),
  );
  const [lease, ...more] = leases.filter((lease) => lease !== undefined);
  assert.equal(more.length, 0);
  const found = (await find())!;
  const waiting = upstream.waitForLease(found, AbortSignal.timeout(60_000));
  assert(await upstream.replace(lease, "second"));
  await waiting;
  assert.equal((await find())?.tokens, "second");
  assert(!await upstream.replace(lease, "third"));
});

test.inMemory("lease() gives tokens that were read after someone took them to no one else", async ({ kv }) => {
  using time = new FakeTime();
  const { upstream, find } = await upstreamOf(kv);
  const lease = async () => await upstream.lease((await find())!);
  const leased = await lease();
  assert(leased);
  for (const seconds of [0, REFRESH_LEASE_SECONDS - 1]) {
    time.tick(seconds);
    assert.equal(await lease(), undefined);
  }
  time.tick(1);
  const second = await lease();
  assert(second);
  assert.equal(await upstream.replace(leased, "late"), false);
  await upstream.release(second);
  assert(await lease());
});

test.inMemory("lease() of tokens does not go by the time of day, but for leases of long ago", async ({ kv }) => {
  using time = new FakeTime();
  const { upstream, find } = await upstreamOf(kv);
  const lease = async () => await upstream.lease((await find())!);
  assert(await lease());
  // Its holder's clock is behind ours, or ahead.
  for (const seconds of [8 * 60, -16 * 60]) {
    time.set(seconds);
    assert.equal(await lease(), undefined);
  }
  time.tick(REFRESH_LEASE_SECONDS);
  assert(await lease());
  time.set(REFRESH_LEASE_SECONDS + 600);
  assert(await lease());
});

test.inMemory("waitForLease() waits while someone refreshes", async ({ kv }) => {
  const { upstream, find } = await upstreamOf(kv);
  const leased = await upstream.lease((await find())!);
  let isReleased = false;
  const waiting = upstream
    .waitForLease((await find())!, AbortSignal.timeout(60_000))
    .then(() => assert(isReleased));
  for (let reads = 0; reads < 10; reads++) await find();
  isReleased = true;
  await upstream.release(leased!);
  await waiting;
});

test.inMemory("complete() ends its request, and does nothing once someone else had the lease", async ({ kv }) => {
  using time = new FakeTime();
  const requests = authorizationRequestStore(new Database(kv));
  const client = newClient();
  const browser = randomId();
  const request = requestOf(client);
  const handle = await requests.save(browser, {
    request,
    clientName: "A",
    named: [],
  });
  const found = async () => (await requests.find(handle, browser))!;
  await requests.approve(await found(), {
    consented: request.scopes,
    provider: "github",
  });
  const grantOf = (subject: string) =>
    openGrant(request, {
      lifetimes: DEFAULT_LIFETIMES,
      issuer: ISSUER,
      provider: "dev",
      identity: { subject, name: "Jo" },
      clientName: "A",
      now: now(),
    });
  const late = (await requests.lease(await found()))!;
  assert.equal(await requests.lease(await found()), undefined);
  time.tick(SIGN_IN_LEASE_SECONDS);
  const leased = (await requests.lease(await found()))!;
  const upstreamTokens = "{}";
  const first = { grant: grantOf("1"), upstreamTokens };
  assert(await requests.complete(leased, first));
  const { phase, isSignedIn } = (await found()).value;
  assert.deepEqual([phase, isSignedIn], ["done", true]);
  assert.equal(await requests.lease(await found()), undefined);

  const second = { grant: grantOf("2"), upstreamTokens };
  assert.equal(await requests.complete(late, second), undefined);
  const grants = grantStore(new Database(kv));
  assert.equal(await grants.find(second.grant.id), undefined);
  assert(await grants.find(first.grant.id));
});

test.inMemory("close() of a grant that is refreshed at the same time lasts as long as its newest tokens", async ({ kv }) => {
  using time = new FakeTime();
  const { code, client: { clientId }, grant } = await signIn(kv);
  const database = new Database(kv);
  const { refreshToken } = await redeem(database, { code, clientId });
  time.tick(DAY);
  const refreshed = () => refresh(database, refreshToken!, clientId);
  const grants = grantStore(new Database(overtaken(kv, refreshed)));
  const before = (await grants.find(grant.id))!.value;
  await grants.close(grant.id);
  const { status, expiresAt } = (await grants.find(grant.id))!.value;
  assert.equal(status, "closed");
  assert(expiresAt > before.expiresAt);
});

test.inMemory("touch() revives no grant that is closed at the same time", async ({ kv }) => {
  using time = new FakeTime();
  const { code, client: { clientId }, grant } = await signIn(kv);
  const grants = grantStore(new Database(kv));
  await redeem(new Database(kv), { code, clientId });
  time.tick(DAY);
  let isClosed = false;
  const close = async () => {
    await grants.close(grant.id);
    isClosed = true;
  };
  const slow = new Database(overtaken(kv, close));
  grantStore(slow).touch(grant.id);
  await until(() => isClosed);
  await slow.idle();
  assert.equal((await grants.find(grant.id))?.value.status, "closed");
});

test.inMemory("documentStore keeps 250 documents that no one signed in with, and drops the oldest", async ({ kv }) => {
  using time = new FakeTime();
  let isUp = true;
  const documents = documentStore(new Database(kv), (url) => {
    if (!isUp) return Promise.reject(new Error("away"));
    return Promise.resolve({ document: url, expiresAt: 0 });
  });
  for (let n = 0; n < 250; n++) await documents.find(`${n}`);
  time.tick(DAY);
  // A document that is fetched again replaces no other.
  await documents.find("5");
  isUp = false;
  time.tick(DAY);
  const stale = (n: number) => documents.find(`${n}`, { stale: true });
  assert.equal(await stale(0), "0");
  isUp = true;
  await documents.find("250");
  isUp = false;
  await assert.rejects(stale(0));
  assert.equal(await stale(1), "1");
  assert.equal(await stale(250), "250");
});

test.inMemory("waitForLease() waits no longer than a lease", async ({ kv }) => {
  using time = new FakeTime();
  const { upstream, find } = await upstreamOf(kv);
  assert(await upstream.lease((await find())!));
  const found = (await find())!;
  const waiting = upstream.waitForLease(found, new AbortController().signal);
  time.tick(REFRESH_LEASE_SECONDS);
  await waiting;
});
