import { Hono } from "@hono/hono";
import assert from "node:assert/strict";
import type { AppEnv } from "../../../src/core/http/client_address.ts";
import { readiness } from "../../../src/core/http/readiness.ts";
import { createServer } from "../../../src/server.ts";
import { customProvider } from "../../../src/core/provider/custom.ts";
import { gitHubProvider } from "../../../src/core/provider/github.ts";
import { UpstreamError } from "../../../src/core/provider/provider.ts";
import { watchProvider } from "../../../src/core/provider/reachability.ts";
import { upstreamFetch } from "../../../src/core/provider/upstream_fetch.ts";
import { Client } from "../../kit/client.ts";
import { FakeProvider } from "../../kit/fake_provider.ts";
import { startOAuthServer } from "../../kit/sign_in.ts";
import { NO_PORT } from "../../kit/port.ts";
import { startServer } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { recordLog, SILENT } from "../../kit/log.ts";

/** Makes a database that can be away or full. */
function failing(kv: Deno.Kv) {
  const state = { isAway: false, isFull: false };
  const database = new Proxy(kv, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (state.isFull && name === "atomic") {
          throw new Error("database or disk is full");
        }
        if (state.isAway && name !== "close") throw new Error("gone");
        return member.apply(target, args);
      };
    },
  });
  return { state, database };
}

Deno.test("GET /ready asks the database once a second, and is 503 where it does not answer or is full", async () => {
  using time = new FakeTime();
  using memory = await Deno.openKv(":memory:");
  const { state, database } = failing(memory);
  await using server = await startServer({ kv: database });
  const ready = async () => {
    const response = await server.fetch("/ready");
    return [response.status, (await response.json()).database];
  };
  assert.deepEqual(await ready(), [200, "ok"]);
  // However many ask, the database is asked once.
  state.isAway = true;
  for (let n = 0; n < 20; n++) assert.deepEqual(await ready(), [200, "ok"]);
  state.isAway = false;
  time.tick(1);
  assert.deepEqual(await ready(), [200, "ok"]);
  // A full disk is no matter to reads.
  state.isFull = true;
  time.tick(9);
  for (let n = 0; n < 3; n++) {
    assert.deepEqual(await ready(), [503, undefined]);
    time.tick(1);
  }
  state.isFull = false;
  assert.deepEqual(await ready(), [200, "ok"]);
  state.isAway = true;
  time.tick(1);
  assert.deepEqual(await ready(), [503, undefined]);
  assert.equal((await server.fetch("/health")).status, 200);
  state.isAway = false;
  time.tick(1);
  assert.deepEqual(await ready(), [200, "ok"]);
});

Deno.test("GET /ready tells whether the provider answered last", async () => {
  const provider = new FakeProvider();
  await using server = await startOAuthServer({ provider });
  const ready = async () => {
    const response = await server.fetch("/ready");
    assert.equal(response.status, 200);
    return (await response.json()).provider;
  };
  assert.equal(await ready(), "unknown");
  const client = await Client.register(server);
  await client.connect();
  assert.equal(await ready(), "ok");
  provider.redeem = () =>
    Promise.reject(new UpstreamError("unavailable", "no answer"));
  await assert.rejects(client.connect());
  assert.equal(await ready(), "unavailable");
});

Deno.test("GET /ready looks for a provider that is not known to be well, once a minute, and tells the log once", async () => {
  using time = new FakeTime();
  const provider = new FakeProvider();
  let looks = 0;
  let answer = () => Promise.resolve();
  const faults: unknown[] = [];
  const { reachability } = watchProvider({
    name: provider.name,
    authorizationUrl: (request) => provider.authorizationUrl(request),
    redeem: (response) => provider.redeem(response),
    refresh: (token) => provider.refresh(token),
    checkAnswers() {
      looks++;
      return answer();
    },
  }, { onFault: (error) => faults.push(error) });
  const told = async () => {
    for (let n = 0; n < 3; n++) reachability();
    await answer().catch(() => {});
    await Promise.resolve();
    return reachability();
  };
  answer = () => Promise.reject(new UpstreamError("unavailable", "no answer"));
  assert.equal(reachability(), "unknown");
  assert.equal(await told(), "unavailable");
  assert.equal(looks, 1);
  answer = () => Promise.reject(new UpstreamError("misbehaved", "no metadata"));
  time.tick(60);
  assert.equal(await told(), "misbehaved");
  assert.deepEqual([looks, faults.length], [2, 1]);
  answer = () => Promise.resolve();
  time.tick(60);
  assert.equal(await told(), "ok");
  time.tick(60);
  assert.equal(await told(), "ok");
  assert.deepEqual([looks, faults.length], [3, 1]);
});

for (
  const [name, make] of [
    ["a custom provider", (origin: string) =>
      customProvider({
        authorizationUrl: `${origin}/authorize`,
        tokenUrl: `${origin}/token`,
        userinfoUrl: `${origin}/me`,
        clientId: "c",
        clientSecret: "s",
        extraAuthParams: {},
      }, upstreamFetch(fetch))],
    ["GitHub", (origin: string) =>
      gitHubProvider(
        {
          issuer: origin,
          clientId: "c",
          clientSecret: "s",
          extraAuthParams: {},
        },
        upstreamFetch(fetch),
      )],
  ] as const
) {
  Deno.test(`checkAnswers() takes any answer of ${name} for one, and none for none`, async () => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("Use POST.", { status: 500 }),
    );
    const provider = make(`http://127.0.0.1:${server.addr.port}`);
    await provider.checkAnswers!();
    await server.shutdown();
    await assert.rejects(
      async () => await provider.checkAnswers!(),
      (error: UpstreamError) => error.kind === "unavailable",
    );
  });
}

Deno.test("GET /ready is 503 once the server is about to end, though calls go on", async () => {
  using kv = await Deno.openKv(":memory:");

  await using server = createServer({
    name: "n",
    version: "1",
    kv,
    log: SILENT,
  });
  const get = (path: string) =>
    server.fetch(new Request(`http://localhost${path}`));
  assert.equal((await get("/ready")).status, 200);
  server.endStreams();
  const response = await get("/ready");
  assert.equal(response.status, 503);
  assert.deepEqual(await response.json(), { status: "stopping" });
  assert.equal((await get("/health")).status, 200);
});

Deno.test("GET /ready is answered anew each time, and says why it refuses", async () => {
  let isStopping = false;
  const refusals: (string | undefined)[] = [];
  const app = new Hono<AppEnv>();
  app.use(async (c, next) => {
    await next();
    refusals.push(c.get("refusal"));
  });
  app.get(
    "/ready",
    readiness({
      probeDatabase: () => Promise.resolve(),
      providers: () => [],
      isStopping: () => isStopping,
    }),
  );
  for (const status of [200, 503]) {
    const response = await app.request("/ready");
    assert.equal(response.status, status);
    assert.equal(response.headers.get("cache-control"), "no-store");
    isStopping = true;
  }
  assert.deepEqual(refusals, [undefined, "stopping"]);
});

Deno.test("the log says of one provider among several that no one can sign in there", async () => {
  const { log, events } = recordLog("warning");
  await using server = await startServer({
    log,
    env: {
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "dev,partner",
      OAUTH_PARTNER_ISSUER: `http://127.0.0.1:${NO_PORT}`,
      OAUTH_PARTNER_CLIENT_ID: "c",
      OAUTH_PARTNER_CLIENT_SECRET: "a-secret-of-ours",
    },
  });
  const ready = async () => (await server.fetch("/ready")).json();
  assert.deepEqual(Object.keys((await ready()).providers), ["dev", "partner"]);
  await until(() => events.length > 0);
  assert.equal((await ready()).providers.partner, "unavailable");
  const { message, properties } = events[0];
  assert.match(message, /^No one can sign in at one provider: /);
  assert.equal(properties.provider, "partner");
});
