/**
 * Registrations at other authorization servers for more scopes than before,
 * with accounts that were connected by earlier ones.
 */
import assert from "node:assert/strict";
import { registrationStore } from "../../../src/features/mcp_servers/registrations.ts";
import { fingerprint } from "../../../src/core/crypto/crypto.ts";
import { AccountVisitor } from "../../kit/account_visitor.ts";
import { startConnected } from "../../kit/connected.ts";
import { openTestKv } from "../../kit/databases.ts";
import { MovedTime } from "../../kit/fake_time.ts";
import { recordLog } from "../../kit/log.ts";
import { McpService } from "../../kit/mcp_service.ts";
import { processOn } from "../../kit/mcp_process.ts";
import {
  callThrough,
  connectThere,
  hearing,
  through,
} from "../../kit/mcp_through.ts";
import { BASE_URL } from "../../kit/server.ts";
import { until } from "../../kit/wait.ts";

/** Starts two processes on one database; a tool of the second needs more. */
async function startBoth(service: McpService, log = {}) {
  const kv = await openTestKv();
  const [before, after] = await Promise.all(
    [["read"], ["read", "write"]].map((scopes) => {
      const other = service.server({ scopes });
      return startConnected(other, { kv, tools: [through(other)], ...log });
    }),
  );
  return {
    kv,
    before,
    after,
    async [Symbol.asyncDispose]() {
      await before[Symbol.asyncDispose]();
      await after[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

Deno.test("accounts go on with the client that they were connected with, and end with it", async () => {
  await using service = new McpService();
  service.registerEach();
  await using both = await startBoth(service);
  await connectThere(both.before, service);
  const bob = { as: "43", account: "bob@acme" };
  await connectThere(both.after, service, bob);
  assert.deepEqual(service.registered.map(({ scope }) => scope), [
    "read",
    "read write",
  ]);
  for (const grant of service.grants) grant.access.clear();
  const ada = await hearing(both.before);
  assert.equal(await callThrough(ada, "who"), "ada@acme");
  const client = await hearing(both.after, bob);
  assert.equal(await callThrough(client, "who"), "bob@acme");
  // The first process registers no third one, for less.
  await connectThere(both.before, service, { as: "44", account: "cy@acme" });
  assert.equal(service.registered.length, 2);
  const visitor = await AccountVisitor.signIn(both.after, { at: "/accounts" });
  await visitor.press("/account/accounts/disconnect");
  await until(() => service.revoked.length > 0);
  const ended = service.grants.filter(({ isEnded }) => isEnded);
  assert.deepEqual(ended.map(({ account }) => account), ["ada@acme"]);
});

for (const isFirst of [true, false]) {
  Deno.test(`a code is redeemed by the client with which its person was sent, though another ${isFirst ? "was registered" : "had been replaced"} meanwhile`, async () => {
    await using service = new McpService();
    service.registerEach();
    await using both = await startBoth(service);
    if (!isFirst) {
      await connectThere(both.before, service, { as: "44" });
    }
    let isAway = false;
    service.answer = async (_request, path) => {
      if (path !== "/authorize" || isAway) return undefined;
      isAway = true;
      // Ada is at the provider while Bob connects an account.
      const bob = { as: "43", account: "bob@acme" };
      await connectThere(both.after, service, bob);
      service.account = "ada@acme";
      return undefined;
    };
    await connectThere(both.before, service);
    assert.equal(service.registered.length, 2);
    const [{ client: adas }] = service.grants.slice(-1);
    assert.notEqual(adas, service.grants.at(-2)!.client);
    const ada = await hearing(both.before);
    assert.equal(await callThrough(ada, "who"), "ada@acme");
  });
}

Deno.test("a person whose client is gone at their return begins again", async () => {
  await using service = new McpService();
  service.registerEach();
  await using both = await startBoth(service);
  const { kv } = both;
  service.answer = async (_request, path) => {
    if (path !== "/authorize") return undefined;
    for await (const { key } of kv.list({ prefix: ["mcp-client"] })) {
      await kv.delete(key);
    }
    return undefined;
  };
  const issuers = [service.origin];
  const visitor = await AccountVisitor.signIn(both.before, { issuers });
  const path = "/connect/crm";
  visitor.page = await visitor.browser.open(BASE_URL + path);
  await visitor.press(path, { answer: "connect" });
  assert.match(visitor.words, /this one is over/);
  // The code went nowhere, and no other client was registered to redeem it.
  assert.deepEqual([service.forms, service.registered.length], [[], 1]);
});

Deno.test("people go on with the earlier client if none can be registered for more", async () => {
  await using service = new McpService();
  service.registerEach();
  const log = recordLog();
  await using both = await startBoth(service, log);
  await connectThere(both.before, service);
  service.answer = (_request, path) =>
    path === "/register" ? new Response("", { status: 403 }) : undefined;
  const bob = { as: "43", account: "bob@acme" };
  await connectThere(both.after, service, bob);
  assert.equal(service.requests.at(-1)!.get("scope"), "read");
  const client = await hearing(both.after, bob);
  assert.equal(await callThrough(client, "who"), "bob@acme");
  const words = log.events.map(({ message }) => message);
  assert.ok(words.includes("A registration for more scopes has failed"));
});

/** A registry that names each of its clients, and asks for these scopes. */
function registryOf(registered: string[][], hold?: () => Promise<void>) {
  return (...scopes: string[]) => () => ({
    server: { registration_endpoint: "https://id.example/r" } as never,
    scopes,
    async fetch(_url: string, { body }: RequestInit = {}) {
      registered.push(JSON.parse(`${body}`).scope.split(" "));
      const client_id = `client-${registered.length}`;
      await hold?.();
      return Response.json({ client_id, client_secret: "s" });
    },
  });
}

const PLACE = { issuer: "https://id.example", redirectUri: `${BASE_URL}/c` };

/** Finds the place of a client that was registered. */
const placeOf = (nth: number) => ({
  ...PLACE,
  client: fingerprint(`client-${nth}`),
});

Deno.test("two processes that register for different scopes at once end with a client for both", async () => {
  using kv = await openTestKv();
  const registered: string[][] = [];
  const both = Promise.withResolvers<void>();
  const registry = registryOf(registered, () => {
    if (registered.length === 2) both.resolve();
    return both.promise;
  });
  const stores = [0, 1].map(() => registrationStore(processOn(kv)));
  const found = await Promise.all(
    ["a", "b"].map((it, nth) => stores[nth].find(PLACE, registry(it), [it])),
  );
  assert.deepEqual(registered.map((it) => it.length), [1, 1, 2]);
  // The first goes on with its own client.
  for (const { clientId, scopes } of found) {
    const at = { ...PLACE, client: fingerprint(clientId) };
    assert.deepEqual((await stores[0].kept(at))?.scopes, scopes);
  }
  assert.deepEqual((await stores[1].kept(PLACE))?.scopes?.toSorted(), [
    "a",
    "b",
  ]);
});

Deno.test("one process that registers for different scopes at once ends with a client for both", async () => {
  using kv = await openTestKv();
  const registered: string[][] = [];
  const registry = registryOf(registered);
  const store = registrationStore(processOn(kv));
  await Promise.all(
    ["a", "b"].map((it) => store.find(PLACE, registry(it), [it])),
  );
  assert.deepEqual(registered.map((it) => it.length), [1, 2]);
});

Deno.test("ten earlier clients are kept at most, each until the server does not know it", async () => {
  using time = new MovedTime();
  using kv = await openTestKv();
  const registered: string[][] = [];
  const registry = registryOf(registered);
  const store = registrationStore(processOn(kv));
  for (let nth = 1; nth <= 12; nth++) {
    await store.find(PLACE, registry(`${nth}`), [`${nth}`]);
  }
  const isKept = (nth: number) =>
    store.kept(placeOf(nth)).then((it) => it?.clientId === `client-${nth}`);
  assert.deepEqual(await Promise.all([1, 2, 11, 12].map(isKept)), [
    false,
    true,
    true,
    true,
  ]);
  for (const isGone of [false, true]) {
    assert.equal(await store.refuse(placeOf(11)), isGone);
    assert.deepEqual([await isKept(11), await isKept(12)], [!isGone, true]);
    time.tick(61);
  }
  assert.equal(await store.refuse(placeOf(12)), false);
  time.tick(61);
  assert.equal(await store.refuse(placeOf(12)), true);
  assert.deepEqual([await isKept(12), await isKept(2)], [false, true]);
});
