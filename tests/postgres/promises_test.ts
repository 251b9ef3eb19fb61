/**
 * The contract of the database on Postgres, and that without its locks it would
 * not be kept.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openPostgres } from "../../packages/postgres/mod.ts";
import { kvPromises } from "../../packages/testing/kv/mod.ts";
import { AWAITED_KINDS } from "../../src/core/kv/awaited.ts";
import { KvUsageError } from "../../src/core/kv/kv_error.ts";
import { Relay } from "./relay.ts";
import { postgresTest } from "./schema.ts";

for (const { name, check } of kvPromises) {
  postgresTest(`openPostgres(): ${name}`, async ({ open }) => {
    await check({ kv: await open(), other: await open() });
  });
}

postgresTest(
  "openPostgres() breaks the promise of the fence without its locks",
  async ({ open, sql, schema }) => {
    // The fence has a connection of its own beside the commits of a round.
    const connections = 20;
    const handles = {
      kv: await open({ connections }),
      other: await open({ connections }),
    };
    const definition = await sql(
      `select pg_get_functiondef('${schema}.kv_commit'::regproc)`,
    );
    const lock = /perform pg_advisory_xact_lock\w*\([^;]*;/g;
    // The commits of a round stand still between their checks and writes.
    const pause =
      "if cardinality(check_keys) > 0 then perform pg_sleep(0.05); end if;";
    await sql(
      definition.replaceAll(lock, "null;")
        .replace("written :=", `${pause} written :=`),
    );
    const { check } = kvPromises.find(({ name }) =>
      name.startsWith("no commit is carried out after")
    )!;
    await assert.rejects(check(handles), { name: "AssertionError" });
  },
);

postgresTest(
  "kv_commit refuses to run where its checks would see the past",
  async ({ url, open, sql }) => {
    await using _kv = await open();
    // A role of its own: other tests run as the owner meanwhile.
    const address = new URL(url);
    address.username = `past_${crypto.randomUUID().slice(0, 8)}`;
    address.password = "past";
    const role = address.username;
    await sql(
      `create role ${role} login password 'past' in role tools`,
    );
    await sql(
      `alter role ${role} set default_transaction_isolation = 'serializable'`,
    );
    try {
      await using kv = await openPostgres(address.href);
      await assert.rejects(
        kv.atomic().set(["a"], 1).commit(),
        /kv_commit needs the isolation level read committed/,
      );
    } finally {
      await sql(`drop role ${role}`);
    }
  },
);

/** As of a pooler that sets a variable: it is done, and ready for the next. */
const SET = new Uint8Array([
  ...[0x43, 0, 0, 0, 8, ...new TextEncoder().encode("SET\0")],
  ...[0x5a, 0, 0, 0, 5, 0x49],
]);

postgresTest(
  "the answer of another statement is refused, and is not read as no record",
  async ({ url }) => {
    const address = new URL(url);
    await using relay = new Relay(Number(address.port));
    address.port = String(relay.port);
    await using kv = await openPostgres(address.href, {
      connections: 1,
      // Nothing else comes through the relay then.
      announced: [],
    });
    await kv.atomic().set(["a"], 1).commit();
    relay.before = SET;
    await assert.rejects(kv.get(["a"]), /answer of another statement \(SET\)/);
    assert.equal((await kv.get(["a"])).value, 1);
  },
);

postgresTest(
  "openPostgres() tries again after the answer of another statement",
  async ({ url }) => {
    const address = new URL(url);
    await using relay = new Relay(Number(address.port));
    address.port = String(relay.port);
    const waited: string[] = [];
    relay.hold = (bytes) => {
      const text = new TextDecoder().decode(bytes);
      const isAsked = text.includes("pg_backend_pid");
      if (isAsked && waited.length === 0) relay.before = SET;
      return undefined;
    };
    await using kv = await openPostgres(address.href, {
      onWaiting: ({ reason }) => waited.push(reason),
    });
    assert.match(waited.join(), /answer of another statement \(SET\)/);
    assert.equal((await kv.get(["a"])).value, null);
  },
);

postgresTest(
  "watch() is refused for keys that nothing announces",
  async ({ open }) => {
    const kv = await open({ announced: AWAITED_KINDS });
    for (const kind of AWAITED_KINDS) await kv.watch([[kind, "a"]]).cancel();
    assert.throws(() => kv.watch([["grant", "a"]]), KvUsageError);
  },
);

postgresTest(
  "commit() of more keys than there are locks is one step all the same",
  async ({ open }) => {
    const [kv, other] = [await open(), await open()];
    const keys = Array.from({ length: 40 }, (_, n) => ["a", n]);
    const large = (value: number) => {
      const operation = (value % 2 ? kv : other).atomic();
      for (const key of keys) operation.set(key, value);
      return operation.commit();
    };
    const small = async (n: number) => {
      const [entry] = await kv.getMany([["a", n]]);
      return await other.atomic().check(entry).set(["a", n], -1).commit();
    };
    await large(0);
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => [large(n), small(n)]).flat(),
    );
    assert((await large(99)).ok);
    const listed = await Array.fromAsync(kv.list({ prefix: ["a"] }));
    assert.deepEqual(new Set(listed.map(({ value }) => value)), new Set([99]));
  },
);

postgresTest(
  "sweep() deletes what has expired, by the clock of the database, and nothing else",
  async ({ open }) => {
    const kv = await open();
    await kv.atomic().set(["old"], 1, { expireIn: 0 }).set(["new"], 1, {
      expireIn: 60_000,
    }).set(["ever"], 1).commit();
    assert.equal(await kv.sweep(10), 1);
    assert.equal(await kv.sweep(10), 0);
    const listed = await Array.fromAsync(kv.list({ start: [""], end: ["z"] }));
    assert.deepEqual(listed.map(({ key }) => key), [["ever"], ["new"]]);
  },
);

postgresTest(
  "commit() takes its locks in one order, so that no two wait for each other",
  async ({ open }) => {
    const [kv, other] = [await open(), await open()];
    const keys = Array.from({ length: 20 }, (_, n) => ["a", n]);
    const commit = (n: number) => {
      const operation = (n % 2 ? kv : other).atomic();
      for (const key of n % 2 ? keys : keys.toReversed()) operation.set(key, n);
      return operation.commit();
    };
    // Two that waited for each other would be ended by Postgres: one is refused.
    await Promise.all(Array.from({ length: 100 }, (_, n) => commit(n)));
  },
);
