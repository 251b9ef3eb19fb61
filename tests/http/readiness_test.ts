import { Hono } from "@hono/hono";
import assert from "node:assert/strict";
import type { Passing } from "../../src/http/passing.ts";
import { readiness } from "../../src/http/readiness.ts";
import { createServer } from "../../src/server.ts";
import { UpstreamError } from "../../src/upstream/provider.ts";
import { Client, FakeProvider, startOAuthServer } from "../flow/kit.ts";
import { startServer } from "../kit.ts";
import { FakeTime } from "../store/fake_time.ts";
import { SILENT } from "../log.ts";

/** Makes a database that can be away, and that counts its reads. */
function counted(kv: Deno.Kv) {
  const state = { isAway: false, reads: 0 };
  const database = new Proxy(kv, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (name === "get") state.reads++;
        if (state.isAway && name !== "close") throw new Error("gone");
        return member.apply(target, args);
      };
    },
  });
  return { state, database };
}

Deno.test("GET /ready reads the database once a second, and is 503 without it", async () => {
  using time = new FakeTime();
  const memory = await Deno.openKv(":memory:");
  const { state, database } = counted(memory);
  try {
    await using server = await startServer({ kv: database });
    const ready = async () => {
      const response = await server.fetch("/ready");
      return [response.status, (await response.json()).database];
    };
    state.reads = 0;
    for (let n = 0; n < 20; n++) assert.deepEqual(await ready(), [200, "ok"]);
    assert.equal(state.reads, 1);
    state.isAway = true;
    time.tick(1);
    assert.deepEqual(await ready(), [503, undefined]);
    assert.equal((await server.fetch("/health")).status, 200);
    state.isAway = false;
    time.tick(1);
    assert.deepEqual(await ready(), [200, "ok"]);
  } finally {
    memory.close();
  }
});

Deno.test("GET /ready tells whether the provider answered last, and asks it nothing", async () => {
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

Deno.test("GET /ready is 503 once the server is about to end, though calls go on", async () => {
  const kv = await Deno.openKv(":memory:");
  try {
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
  } finally {
    kv.close();
  }
});

Deno.test("GET /ready is answered anew each time, and says why it refuses", async () => {
  let isStopping = false;
  const refusals: (string | undefined)[] = [];
  const app = new Hono<Passing>();
  app.use(async (c, next) => {
    await next();
    refusals.push(c.get("refusal"));
  });
  app.get(
    "/ready",
    readiness({
      readDatabase: () => Promise.resolve(),
      provider: () => undefined,
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
