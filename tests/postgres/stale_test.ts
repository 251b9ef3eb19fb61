/**
 * Connections that stay open to a server which answers nothing any more, or is
 * no longer the one that the others lead to.
 *
 * @module
 */
import assert from "node:assert/strict";
import { parseDatabaseUrl } from "../../packages/postgres/address.ts";
import { connectionOptions } from "../../packages/postgres/connection_options.ts";
import { channelOf, presenceSql } from "../../packages/postgres/layout.ts";
import { NotificationConnection } from "../../packages/postgres/driver.ts";
import { Listener } from "../../packages/postgres/listener.ts";
import { openPostgres } from "../../packages/postgres/mod.ts";
import { until } from "../kit/wait.ts";
import { Relay } from "./relay.ts";
import { postgresTest } from "./schema.ts";

/** Makes a relay to the server of an address, and the address through it. */
function relayTo(url: string): { relay: Relay; address: string } {
  const { port } = new URL(url);
  const relay = new Relay(Number(port));
  const address = Object.assign(new URL(url), { port: String(relay.port) });
  return { relay, address: address.href };
}

postgresTest(
  "one statement that is not answered closes the idle connections of its process",
  async ({ url }) => {
    const { relay, address } = relayTo(url);
    await using _relay = relay;
    await using kv = await openPostgres(address, { connections: 5 });
    const get = () => kv.get(["a"]);
    const opened = () => relay.connections;
    await until(async () => {
      await Promise.all(Array.from({ length: 5 }, get));
      return opened() === 6;
    });
    relay.hang();
    await assert.rejects(get(), /it does not answer/);
    assert.equal((await get()).value, null);
    relay.cut();
  },
);

postgresTest(
  "a listening connection that hears nothing is replaced, and so is one that is cut, by one",
  async ({ url, schema, sql, open }) => {
    const other = await open();
    const { relay, address } = relayTo(url);
    await using _relay = relay;
    const options = await connectionOptions(parseDatabaseUrl(address), {
      hasTimeout: true,
    });
    const channel = channelOf(schema);
    const listener = new Listener(
      new NotificationConnection(options, channel),
      presenceSql(schema),
      100,
    );
    const heard: string[] = [];
    let backs = 0;
    listener.onChange = (payload) => heard.push(payload);
    listener.onBack = () => backs++;
    const announcing: Promise<unknown>[] = [];
    const announce = (payload: string) => {
      const done = sql(`select pg_notify('${channel}', '${payload}')`);
      announcing.push(done);
      return done;
    };
    try {
      await listener.start(announce);
      assert(listener.hears);
      relay.hang();
      // A slow machine may have it replaced twice.
      await until(() => backs > 0);
      await announce("1");
      await until(() => heard.includes("1"));
      // It is cut again between LISTEN and the next statement.
      let statements = 0;
      relay.hold = (bytes) => {
        if (!includes(bytes, "select pg_advisory_lock") || ++statements > 1) {
          return;
        }
        relay.cut();
      };
      const before = backs;
      relay.cut();
      await until(() => backs > before);
      await announce("2");
      await until(() => heard.includes("2"));
      assert.equal(statements, 2);
      await until(() => relay.connections === 1);
      assert.equal(await other.countOthers(), 1);
    } finally {
      await listener.close();
      await Promise.all(announcing);
    }
  },
);

/** True if what a side sent has a text. */
function includes(bytes: Uint8Array, text: string): boolean {
  return new TextDecoder().decode(bytes).includes(text);
}

postgresTest(
  "openPostgres() takes a slow server for no pooler",
  async ({ url }) => {
    const { relay, address } = relayTo(url);
    await using _relay = relay;
    const late = Promise.withResolvers<void>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    relay.hold = (bytes) => {
      // The notification alone, and not the statement that announces it.
      if (!includes(bytes, ".kv\0echo ")) return;
      timer ??= setTimeout(late.resolve, 1500);
      return late.promise;
    };
    await using kv = await openPostgres(address);
    assert(kv.isRemote);
    clearTimeout(timer);
  },
);

postgresTest(
  "a listener that is closed while it connects again leaves no connection",
  async ({ url, schema, sql, open }) => {
    await open();
    const { relay, address } = relayTo(url);
    await using _relay = relay;
    const options = await connectionOptions(parseDatabaseUrl(address), {
      hasTimeout: true,
    });
    const channel = channelOf(schema);
    const listener = new Listener(
      new NotificationConnection(options, channel),
      presenceSql(schema),
    );
    let backs = 0;
    listener.onBack = () => backs++;
    await listener.start((payload) =>
      sql(`select pg_notify('${channel}', '${payload}')`)
    );
    const asked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    relay.hold = (bytes) => {
      if (!includes(bytes, "LISTEN")) return;
      asked.resolve();
      return goOn.promise;
    };
    relay.cut();
    await asked.promise;
    const closing = listener.close();
    goOn.resolve();
    await closing;
    await until(() => relay.connections === 0);
    assert.equal(backs, 0);
  },
);
