/**
 * People's accounts at other services, on a database that moves to Postgres and
 * back, and on one that is gone in the middle of a refresh.
 *
 * @module
 */
import assert from "node:assert/strict";
import { systemClock } from "../../src/core/clock.ts";
import { moveRecords } from "../../src/core/kv/moving.ts";
import { AccountVisitor } from "../kit/account_visitor.ts";
import { textOf } from "../kit/answer.ts";
import { callBy, clientOf, startConnected } from "../kit/connected.ts";
import { openSharedKv, POSTGRES } from "../kit/databases.ts";
import { BASE_URL } from "../kit/server.ts";
import { TokenService } from "../kit/token_service.ts";
import { Relay } from "./relay.ts";
import { postgresTest } from "./schema.ts";

const PATH = "/connect/crm";

/** Goes to the service and back, to the page of the account. */
async function allow(visitor: AccountVisitor): Promise<void> {
  visitor.page = await visitor.browser.open(BASE_URL + PATH);
  await visitor.press(PATH, { answer: "connect" });
  assert.match(visitor.words, /Nothing is kept yet/);
}

postgresTest(
  "accounts move to Postgres and back with their keys, and a page half-way goes on",
  async ({ url }) => {
    await using service = new TokenService();
    // Every use refreshes.
    service.lifetime = 1;
    const start = (kv: Deno.Kv) =>
      startConnected(service.declare({ several: true }), {
        kv,
        environment: service.environment,
      });
    using first = await Deno.openKv(":memory:");
    using last = await Deno.openKv(":memory:");
    await using middle = await openSharedKv(url);
    let server = await start(first);
    await server.app.start();
    server.provider.subject = "42";
    const { headers } = await server.person();
    const visitor = await AccountVisitor.signIn({
      fetch: (...request) => server.fetch(...request),
      provider: server.provider,
    }, { issuers: [service.origin] });
    const names = ["ada@acme", "ada@home", "ada@work"];
    const kept: string[] = [];
    for (const [from, to] of [[first, middle], [middle, last]]) {
      service.account = names[kept.length];
      await allow(visitor);
      await server[Symbol.asyncDispose]();
      await moveRecords(from, to, { clock: systemClock });
      server = await start(to);
      await visitor.press(PATH, { answer: "connect" });
      assert.match(visitor.words, /Connected as/);
      kept.push(service.account);
      const call = await callBy(server, "2026", headers);
      for (const account of kept) {
        assert.equal(await textOf(call("who", { account })), `200 ${account}`);
      }
    }
    await server[Symbol.asyncDispose]();
    assert.equal(service.reused, 0);
  },
);

postgresTest(
  "a Postgres that is gone when the new tokens come loses none, and none is used twice",
  async ({ url }) => {
    const address = new URL(url);
    await using relay = new Relay(Number(new URL(POSTGRES!).port));
    address.host = `127.0.0.1:${relay.port}`;
    await using kv = await openSharedKv(url);
    await using other = await openSharedKv(address.href);
    await using service = new TokenService();
    service.lifetime = 1;
    const start = (kv: Deno.Kv) =>
      startConnected(service.declare(), {
        kv,
        environment: service.environment,
      });
    await using near = await start(kv);
    await using far = await start(other);
    const visitor = await AccountVisitor.signIn(far, {
      issuers: [service.origin],
    });
    await allow(visitor);
    await visitor.press(PATH, { answer: "connect" });
    const calls = [await clientOf(far, "2026"), await clientOf(near, "2026")];
    /** Answers for Postgres as a machine does where nothing listens. */
    using gone = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { target } = relay;
    const tried = Promise.withResolvers<void>();
    const turning = (async () => {
      for await (const connection of gone) {
        connection.close();
        tried.resolve();
      }
    })().catch(() => {});
    service.lose = (path) => {
      if (path !== "/token") return undefined;
      service.lose = undefined;
      relay.target = gone.addr.port;
      relay.cut();
      return undefined;
    };
    const answer = textOf(calls[0]("who"));
    await tried.promise;
    // Another process, which waits for the one that has lost the database.
    const second = textOf(calls[1]("who"));
    relay.target = target;
    assert.equal(await answer, "200 ada@acme");
    assert.equal(await second, "200 ada@acme");
    for (const call of calls) {
      assert.equal(await textOf(call("who")), "200 ada@acme");
    }
    assert.equal(service.reused, 0);
    gone.close();
    await turning;
  },
);
