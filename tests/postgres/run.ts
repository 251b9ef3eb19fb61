/**
 * `deno task test postgres`: the tests of the stores, of their costs and of
 * Postgres itself, on a PostgreSQL that this starts. Says in one line that it is
 * left out where there is none.
 *
 * @module
 */
import { findPostgres, Postgres } from "../kit/postgres.ts";

/** The folder of a suite for each feature. */
const FEATURES = "tests/features";

const SUITES = [
  "tests/core/kv/",
  "tests/core/store/",
  ...storesOfFeatures(),
  "tests/features/approvals/approval_accounts_test.ts",
  "tests/interop/approvals_test.ts",
  "tests/process/approval_kills_test.ts",
  "tests/trips/",
  "tests/postgres/",
];

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

/** Lists the tests of features that are for each kind of database. */
function storesOfFeatures(): string[] {
  return [...Deno.readDirSync(FEATURES)].flatMap(({ name: feature }) => {
    const folder = `${FEATURES}/${feature}`;
    return [...Deno.readDirSync(folder)]
      .map(({ name }) => `${folder}/${name}`)
      .filter((path) => Deno.readTextFileSync(path).includes(".onDatabases("));
  });
}
