/**
 * A schema that is dropped and restored, or made again, under a process that
 * runs: what it has in memory is of records that are no more.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Kv } from "../../src/core/kv/kv.ts";
import { statusOf } from "../kit/answer.ts";
import { Client } from "../kit/client.ts";
import { findPostgres } from "../kit/postgres.ts";
import { startOAuthServer } from "../kit/sign_in.ts";
import { postgresTest } from "./schema.ts";

const REFUSED = /dropped and made again.*Fix: Start this process again/s;

postgresTest(
  "a process refuses what it is asked once its schema was dropped and restored, and writes nothing there",
  async ({ url, schema, open, sql }) => {
    const [idle, busy] = [await open(), await open()];
    await busy.atomic().set(["a"], 1).commit();
    const { stdout } = await new Deno.Command(`${findPostgres()}/pg_dump`, {
      args: ["--inserts", "--schema", schema, url.split("?")[0]],
    }).output();
    await sql(`drop schema ${schema} cascade`);
    await sql(new TextDecoder().decode(stdout).replace(/^\\.*$/gm, ""));
    await assert.rejects(busy.atomic().set(["b"], 1).commit(), REFUSED);
    await assert.rejects(busy.get(["a"]), REFUSED);
    // Each process announces something to itself every ten seconds.
    await assert.rejects(idle.announce("echo"), REFUSED);
    await assert.rejects(idle.get(["a"]), REFUSED);
    const later = await open();
    assert.equal((await later.get(["b"])).value, null);
    await later.checkPlace();
  },
);

postgresTest(
  "a process notices tables that were made again by its sweep, and when it is asked",
  async ({ schema, open, sql }) => {
    const [swept, asked] = [await open(), await open()];
    await sql(`drop schema ${schema} cascade`);
    const later = await open();
    await assert.rejects(swept.sweep(1), REFUSED);
    await assert.rejects(asked.checkPlace(), REFUSED);
    for (const kv of [swept, asked]) {
      await assert.rejects(kv.get(["a"]), REFUSED);
    }
    assert((await later.atomic().set(["a"], 1).commit()).ok);
  },
);

postgresTest(
  "identityOf() differs for the tables of another server with the same numbers",
  async ({ schema, open, sql }) => {
    const kv = await open();
    await sql(`update ${schema}.kv_layout set id = gen_random_uuid()`);
    await assert.rejects(kv.checkPlace(), REFUSED);
  },
);

postgresTest(
  "a server whose database was made again is not ready, and issues nothing",
  async ({ schema, open, sql }) => {
    const kv = await open();
    await using server = await startOAuthServer({ kv: kv as Kv as Deno.Kv });
    const client = await Client.register(server);
    const { refresh_token } = await client.connect();
    await sql(`drop schema ${schema} cascade`);
    await open();
    assert.equal(await statusOf(server.fetch("/ready")), 503);
    assert.equal((await client.refresh(refresh_token)).status, 503);
  },
);
