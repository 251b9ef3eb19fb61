/**
 * The contract of the database on Postgres behind pgbouncer.
 *
 * @module
 */
import assert from "node:assert/strict";
import { openPostgres } from "../../packages/postgres/mod.ts";
import { kvPromises } from "../../packages/testing/kv/mod.ts";
import { freshSchema } from "../kit/databases.ts";
import { hasPgbouncer, Pgbouncer } from "./pgbouncer.ts";
import { postgresTest } from "./schema.ts";

/** The modes of pgbouncer, and if changes are heard of through it. */
const MODES = { session: true, transaction: false };

for (const [mode, hears] of Object.entries(MODES)) {
  if (!hasPgbouncer()) {
    Deno.test.ignore(`pgbouncer, ${mode} mode: it is not installed`, () => {});
    continue;
  }
  postgresTest(
    `openPostgres() keeps every promise behind pgbouncer in ${mode} mode, and says what it lacks`,
    async ({ url }) => {
      await using pgbouncer = await Pgbouncer.start(mode, new URL(url).port);
      for (const { name, check } of kvPromises) {
        const address = new URL(freshSchema());
        address.port = String(pgbouncer.port);
        const warnings: string[] = [];
        const onWarning = (message: string) => warnings.push(message);
        // Finding out that nothing is heard takes a second.
        const [kv, other] = await Promise.all([
          openPostgres(address.href, { connections: 4, onWarning }),
          openPostgres(address.href, { connections: 4 }),
        ]);
        await using _kv = kv;
        await using _other = other;
        assert.equal(kv.isRemote, hears);
        const polls = warnings.some((words) => /are polled for/.test(words));
        assert.equal(polls, !hears);
        // pgbouncer takes no time limit with a connection.
        assert(warnings.some((words) => /statement_timeout/.test(words)));
        await check({ kv, other }).catch((cause) => {
          throw new Error(`${mode}: ${name}`, { cause });
        });
      }
    },
  );
}
