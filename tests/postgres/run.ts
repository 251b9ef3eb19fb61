/**
 * `deno task test:postgres`: the tests of the stores, of their costs and of
 * Postgres itself, on a PostgreSQL that this starts. Says in one line that it is
 * left out where there is none.
 *
 * @module
 */
import { findPostgres, Postgres } from "../kit/postgres.ts";

const SUITES = ["tests/core/store/", "tests/trips/", "tests/postgres/"];

const programs = findPostgres();
if (!programs) {
  console.log("ok | 0 passed | 0 failed: left out, no PostgreSQL is installed");
  Deno.exit(0);
}
await using postgres = await Postgres.start(programs, { fsync: "off" });
const { code } = await new Deno.Command(Deno.execPath(), {
  args: [
    ...["test", "--parallel", "--config", "tests/deno.json", "--allow-all"],
    ...["--sanitize-ops", "--sanitize-resources"],
    ...Deno.args.length > 0 ? Deno.args : SUITES,
  ],
  env: { TEST_POSTGRES: postgres.url },
}).spawn().status;
Deno.exitCode = code;
