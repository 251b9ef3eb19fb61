/**
 * The contract of the database on Postgres behind pgbouncer.
 *
 * @module
 */
import assert from "node:assert/strict";
import { failureOf } from "../../packages/postgres/failure.ts";
import {
  openPostgres,
  type PostgresError,
} from "../../packages/postgres/mod.ts";
import { kvPromises } from "../../packages/testing/kv/mod.ts";
import { freshSchema } from "../kit/databases.ts";
import { findPostgres, Postgres, ROLE } from "../kit/postgres.ts";
import { until } from "../kit/wait.ts";
import { hasPgbouncer, Pgbouncer } from "./pgbouncer.ts";
import { postgresTest } from "./schema.ts";

/** Words of pgbouncer, what is said of them, the fix, and the wait. */
const REFUSALS: [string, RegExp, RegExp, number][] = [
  [
    "server login has been failing, try again later (server_login_retry)",
    /could not sign in to Postgres, and pauses/,
    /server_login_retry/,
    30,
  ],
  [
    "server login has been failing, cached error: connect failed (server_login_retry)",
    /pauses/,
    /15 seconds/,
    30,
  ],
  [
    "no more connections allowed (max_client_conn)",
    /too many clients/,
    /max_client_conn/,
    10,
  ],
  ["query_wait_timeout", /no connection to Postgres/, /default_pool_size/, 10],
  ["pgbouncer cannot connect to server", /not reach/, /pgbouncer\.ini/, 10],
  ["client_login_timeout (server down)", /not reach/, /Start Postgres/, 10],
  [
    "server login failed: FATAL the database system is shutting down",
    /starting up or shutting down/,
    /Wait/,
    10,
  ],
  ["SASL authentication failed", /password is wrong/, /PGPASSWORD/, 0],
  ['database "none" does not exist', /does not exist/, /Make it/, 0],
];

Deno.test("failureOf() says what pgbouncer refuses, how to fix it, and what passes", () => {
  for (const [message, words, fix, seconds] of REFUSALS) {
    for (const code of ["08P01", undefined]) {
      const error = failureOf({ code, message }, "place") as PostgresError;
      assert.match(error.reason, words);
      assert(error.reason.includes(message));
      assert.match(error.fix!, fix);
      assert.equal(error.isTransient ? error.patienceSeconds : 0, seconds);
    }
  }
  const other = failureOf({ code: "08P01", message: "no" }, "place");
  assert.equal((other as PostgresError).isTransient, false);
});

/** The modes of pgbouncer, and if changes are heard of through it. */
const MODES = { session: true, transaction: false };

if (hasPgbouncer()) {
  postgresTest(
    "openPostgres() waits for a pgbouncer that pauses after a failed login",
    async () => {
      await using postgres = await Postgres.start(findPostgres()!);
      await using pgbouncer = await Pgbouncer.start(
        "session",
        String(postgres.port),
      );
      const url = postgres.urlOf(ROLE, pgbouncer.port);
      await (await openPostgres(url))[Symbol.asyncDispose]();
      await postgres.kill();
      const waiting: PostgresError[] = [];
      const opening = openPostgres(url, {
        onWaiting: (error) => waiting.push(error),
      });
      await until(() => waiting.length > 0);
      await postgres.start();
      await using kv = await opening;
      assert(kv.isRemote);
      assert.equal(waiting.length, 1);
    },
  );
}

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
