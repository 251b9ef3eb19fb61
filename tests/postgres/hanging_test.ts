/**
 * A primary that hangs, with its connections open, and a standby that is
 * promoted at the same address.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openPostgres } from "../../packages/postgres/mod.ts";
import type { Kv, KvEntryMaybe } from "../../src/core/kv/kv.ts";
import { statusOf } from "../kit/answer.ts";
import { findPostgres, Postgres, ROLE } from "../kit/postgres.ts";
import { startServer } from "../kit/server.ts";
import { until } from "../kit/wait.ts";
import { Relay } from "./relay.ts";
import { postgresTest } from "./schema.ts";

postgresTest(
  "a quiet process leaves a primary that hangs after one statement, and listens to the next",
  async () => {
    const programs = findPostgres()!;
    await using primary = await Postgres.start(programs, { fsync: "off" });
    await primary.allowReplication();
    await using standby = await Postgres.standbyOf(primary);
    await using relay = new Relay(primary.port);
    await using kv = await openPostgres(primary.urlOf(ROLE, relay.port));
    // It has as many idle connections as it may have.
    await until(async () => {
      await Promise.all(Array.from({ length: 10 }, () => kv.get(["a"])));
      return relay.connections === 11;
    });
    await using server = await startServer({ kv: kv as Kv as Deno.Kv });
    const ready = () => statusOf(server.fetch("/ready"));
    assert.equal(await ready(), 200);
    await until(async () =>
      await primary.sql(
        "select sent_lsn = replay_lsn from pg_stat_replication",
      ) === "t"
    );
    await primary.stop();
    await standby.promote();
    relay.target = standby.port;
    try {
      // The first statement waits for six seconds; none after it does.
      await assert.rejects(kv.get(["a"]), /it does not answer/);
      const { ok } = await kv.atomic().set(["a"], 1).commit();
      assert(ok);
      await until(async () => await ready() === 200);
      const seen: unknown[] = [];
      const watching = kv.watch([["a"]]).pipeTo(
        new WritableStream<KvEntryMaybe[]>({
          write([{ value }]) {
            seen.push(value);
          },
        }),
      );
      await until(() => seen.includes(1));
      await using other = await openPostgres(standby.url);
      // Its listening connection is replaced once it hears nothing of itself.
      let value = 1;
      await until(async () => {
        await other.atomic().set(["a"], ++value).commit();
        return seen.at(-1)! as number > 1;
      });
      kv.close();
      await watching;
    } finally {
      await primary.goOn();
    }
  },
);
