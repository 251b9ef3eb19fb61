import assert from "node:assert/strict";
import { ChallengeError, StorageError } from "../../../src/core/errors.ts";
import { newDataKey } from "../../../src/core/oauth/refresh_token.ts";
import { seal } from "../../../src/core/crypto/crypto.ts";
import {
  Database,
  type Found,
  type Write,
} from "../../../src/core/kv/database.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { upstreamKey } from "../../../src/core/kv/keys.ts";
import type { Leasable } from "../../../src/core/kv/record_leases.ts";
import { upstreamTokenStore } from "../../../src/core/store/upstream_tokens.ts";
import { signInProviders } from "../../../src/core/provider/sign_in_providers.ts";
import { silentLogger } from "../../kit/log.ts";
import { BASE_URL } from "../../kit/server.ts";
import { isProviderAddress } from "../../../src/core/provider/provider_api.ts";
import { providerTokens } from "../../../src/core/provider/provider_tokens.ts";
import { FakeProvider } from "../../kit/fake_provider.ts";
import { until } from "../../kit/wait.ts";

const GRANT = "g".repeat(22);

/**
 * Makes a grant whose provider tokens have to be refreshed before their next
 * use.
 */
async function expiring(waitSeconds?: number, held: object = {}) {
  const kv = await Deno.openKv(":memory:");
  const database = new Database(kv);
  const bytes = newDataKey();
  const stale = {
    accessToken: "provider-access-old",
    refreshToken: "provider-refresh-old",
    expiresAt: database.now(),
    ...held,
  };
  const record = {
    sealed: await seal(bytes, JSON.stringify(stale), GRANT),
    expiresAt: database.now() + 3600,
  };
  await database.commit((transaction) =>
    transaction.set(upstreamKey(GRANT), record)
  );
  const provider = new FakeProvider();
  const upstreamTokens = upstreamTokenStore(database);
  const make = (of: Database) =>
    providerTokens({
      providers: signInProviders({
        listed: [{ id: "github", config: { provider: "dev" }, domains: [] }],
        baseUrl: BASE_URL,
        make: () => provider,
        log: silentLogger,
      }),
      grants: grantStore(of),
      upstreamTokens: of === database ? upstreamTokens : upstreamTokenStore(of),
      clock: of.clock,
      background: (work) => of.background(work),
      waitSeconds,
    });
  const tokens = make(database);
  const grant = {
    id: GRANT,
    subject: "github:42",
    identity: { subject: "42" },
    provider: "github",
  };
  const key = { grant, dataKey: () => Promise.resolve(bytes) };
  return {
    provider,
    upstreamTokens,
    database,
    refreshIfDue: (write: Write) => tokens.refreshIfDue(key, write),
    token: () => tokens.upstream(key).token(),
    fetch: (path: string) => tokens.upstream(key).fetch(path),
    identify: () => tokens.identify(key),
    /** Another process on the same database. */
    process: () => {
      const other = make(new Database(kv));
      return { identify: () => other.identify(key) };
    },
    isLeased: async () =>
      (await upstreamTokens.find({ id: GRANT, dataKey: bytes }))?.value
        .leaseUntil !== undefined,
    stored: async () =>
      (await upstreamTokens.find({ id: GRANT, dataKey: bytes }))?.tokens,
    refreshes: () => provider.log.filter((it) => it === "refresh").length,
    [Symbol.dispose]: () => kv.close(),
  };
}

/**
 * Holds back the answers of refreshes until the returned function is called.
 */
function holdRefresh(provider: FakeProvider): () => void {
  const refresh = provider.refresh.bind(provider);
  const gate = Promise.withResolvers<void>();
  provider.refresh = async (refreshToken) => {
    await gate.promise;
    return await refresh(refreshToken);
  };
  return gate.resolve;
}

Deno.test("tokens that the provider gave are stored although the database stumbles", async () => {
  using flow = await expiring();
  const { upstreamTokens } = flow;
  const replace = upstreamTokens.replace;
  let failures = 2;
  upstreamTokens.replace = (...change) =>
    failures-- > 0
      ? Promise.reject(new StorageError())
      : replace.apply(upstreamTokens, change);
  const token = await flow.token();
  assert.match((await flow.stored())!, RegExp(token));
  assert.equal(flow.refreshes(), 1);
  assert.equal(failures, -1);
});

Deno.test("tokens that the provider gave are stored although the lease was taken meanwhile", async () => {
  using flow = await expiring();
  const { upstreamTokens, provider } = flow;
  const refresh = provider.refresh.bind(provider);
  const leased: unknown[] = [];
  const lease = upstreamTokens.lease;
  upstreamTokens.lease = async <F extends Found<Leasable>>(found: F) => {
    const mine = await lease(found);
    leased.push(mine);
    return mine;
  };
  provider.refresh = async (refreshToken) => {
    const [mine] = leased as [Parameters<typeof upstreamTokens.release>[0]];
    await upstreamTokens.release(mine);
    return await refresh(refreshToken);
  };
  const token = await flow.token();
  assert.match((await flow.stored())!, RegExp(token));
});

Deno.test("a refresh that takes long is a 503 for who waits, and not lost", async () => {
  using flow = await expiring(0.01);
  const answer = holdRefresh(flow.provider);
  for (let times = 0; times < 2; times++) {
    await assert.rejects(flow.token(), { status: 503 });
  }
  answer();
  const late = await flow.token().catch(() => flow.token());
  assert.match(late, /^provider-access-/);
  assert.equal(flow.refreshes(), 1);
});

Deno.test("the close of a server waits until the tokens of a refresh are stored", async () => {
  using flow = await expiring();
  const answer = holdRefresh(flow.provider);
  const token = flow.token();
  await until(flow.isLeased);
  const closed = flow.database.idle();
  answer();
  await closed;
  assert.match((await flow.stored())!, RegExp(await token));
  assert.equal(await flow.isLeased(), false);
});

Deno.test("who waits for a refresh that ends with its process refreshes in the end", async () => {
  using flow = await expiring();
  const { upstreamTokens } = flow;
  const { lease, waitForLease } = upstreamTokens;
  upstreamTokens.lease = () => {
    upstreamTokens.lease = lease;
    return Promise.resolve(undefined);
  };
  upstreamTokens.waitForLease = () => {
    upstreamTokens.waitForLease = waitForLease;
    return Promise.reject(new DOMException("It was long", "TimeoutError"));
  };
  assert.match(await flow.token(), /^provider-access-/);
  assert.equal(flow.refreshes(), 1);
});

Deno.test("a token that has expired by our clock is used where the provider still knows it, and else ends its grant", async () => {
  using flow = await expiring(undefined, { refreshToken: undefined });
  flow.provider.alive = true;
  assert.equal(await flow.token(), "provider-access-old");
  flow.provider.alive = false;
  await assert.rejects(flow.token(), ChallengeError);
});

Deno.test("refreshIfDue() stores what the provider gave together with what rests on it", async () => {
  using flow = await expiring();
  const { database, provider, refreshIfDue } = flow;
  let issued = "";
  provider.onIssue = (accessToken) => issued = accessToken;
  const write: Write = (transaction) =>
    transaction.set(["mine"], { expiresAt: database.now() + 60 });
  assert(await refreshIfDue(write));
  const [mine, upstream] = await database.getMany([
    ["mine"],
    upstreamKey(GRANT),
  ]);
  assert.equal(mine.versionstamp, upstream.versionstamp);
  assert.match((await flow.stored())!, RegExp(issued));
  // They are good for a while now, and nothing is written.
  assert.equal(await refreshIfDue(write), false);
  assert.equal(flow.refreshes(), 1);
});

for (const what of ["lose their race", "fail"]) {
  Deno.test(`refreshIfDue() stores what the provider gave although the caller's writes ${what}`, async () => {
    using flow = await expiring();
    const { upstreamTokens } = flow;
    const replace = upstreamTokens.replace;
    upstreamTokens.replace = (leased, tokens, extraWrites) =>
      what === "fail" && extraWrites
        ? Promise.reject(new StorageError())
        : replace(leased, tokens, extraWrites);
    const isWritten = await flow.refreshIfDue((transaction) =>
      transaction.check({ key: ["mine"], versionstamp: "another" })
        .setForever(["mine"], 1)
    );
    assert.equal(isWritten, false);
    assert.doesNotMatch((await flow.stored())!, /provider-refresh-old/);
    assert.equal((await flow.database.get(["mine"])).value, undefined);
    assert.equal(flow.refreshes(), 1);
  });
}

Deno.test("who asks who a person is gets the id_token of a refresh by another process", async () => {
  using flow = await expiring();
  const other = flow.process();
  const { provider } = flow;
  const refresh = provider.refresh.bind(provider);
  const gate = Promise.withResolvers<void>();
  provider.refresh = async (refreshToken) => {
    await gate.promise;
    return { ...await refresh(refreshToken), idToken: "the id_token" };
  };
  const told: unknown[] = [];
  provider.identify = ({ idToken }) => {
    told.push(idToken);
    return Promise.resolve({ subject: "42" });
  };
  // A tool calls the provider's API; the token endpoint waits for its refresh.
  const calling = flow.token();
  await until(async () => await flow.isLeased());
  const identifying = other.identify();
  gate.resolve();
  await calling;
  assert.deepEqual(await identifying, { subject: "42" });
  assert.deepEqual([told, flow.refreshes()], [["the id_token"], 1]);
});

const cases: [url: string, apiUrl: string | undefined, isAllowed: boolean][] = [
  ["https://api.github.com/user", "https://api.github.com", true],
  ["https://uploads.github.com/x", "https://api.github.com", true],
  ["https://github.com/x", "https://api.github.com", true],
  ["http://api.github.com/user", "https://api.github.com", false],
  ["http://uploads.github.com/x", "https://api.github.com", false],
  ["https://github.com.evil.example/x", "https://api.github.com", false],
  ["https://evilgithub.com/x", "https://api.github.com", false],
  ["https://gmail.googleapis.com/x", "https://www.googleapis.com", true],
  ["https://other.co.uk/x", "https://example.co.uk", false],
  ["http://127.0.0.1:9/x", "http://127.0.0.1:9/api", true],
  ["http://127.0.0.1:8/x", "http://127.0.0.1:9/api", false],
  ["https://anything.example/x", undefined, true],
  ["http://anything.example/x", undefined, false],
  ["http://localhost:9/x", undefined, true],
];

for (const [url, apiUrl, isAllowed] of cases) {
  Deno.test(`isProviderAddress() ${isAllowed ? "sends" : "keeps"} a token of ${apiUrl} ${isAllowed ? "to" : "from"} ${url}`, () => {
    assert.equal(isProviderAddress(new URL(url), apiUrl), isAllowed);
  });
}
