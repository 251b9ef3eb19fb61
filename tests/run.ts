/**
 * `deno task test [SUITE] [ARGUMENTS]`: runs the tests, or one of the suites
 * that are not among them. Arguments go to the suite.
 *
 * @module
 */
import { answerHelp } from "./kit/help.ts";

const TEST = "deno test --config tests/deno.json --allow-all";
const SANITIZED = `${TEST} --sanitize-ops --sanitize-resources`;
const RUN = "deno run --allow-all";

const SUITES: Readonly<Record<string, string>> = {
  all: `${SANITIZED} --parallel --ignore=tests/browser,tests/cluster,` +
    "tests/postgres,tests/process,tests/remote tests/ src/ packages/",
  tools: `${SANITIZED} src/`,
  cluster: `${SANITIZED} --parallel tests/cluster/`,
  postgres: `${RUN} --config tests/deno.json tests/postgres/run.ts`,
  remote: `${SANITIZED} tests/remote/`,
  process: `${SANITIZED} --parallel tests/process/`,
  oldest: `${SANITIZED} tests/process/oldest_deno_suite.ts`,
  kills: `${SANITIZED} tests/process/kills_test.ts --`,
  cores: `${SANITIZED} tests/process/cores_kills_test.ts --`,
  work: `${SANITIZED} tests/process/work_kills_test.ts --`,
  approvals: `${SANITIZED} tests/process/approval_kills_test.ts --`,
  awaits: `${TEST} tests/faults/durable_work_test.ts --`,
  restarts: `${SANITIZED} tests/process/rolling_restart_test.ts --`,
  package: `${SANITIZED} --parallel tests/package/*_suite.ts`,
  imports: `${SANITIZED} tests/imports/documents_suite.ts`,
  examples: "deno test --config examples/deno.json --allow-all " +
    "--sanitize-ops --sanitize-resources examples/",
  browser: `${TEST} --parallel tests/browser/`,
  interop: `${SANITIZED} --parallel tests/interop/*_suite.ts`,
  conformance: `${RUN} tests/conformance/suite.ts`,
  authorization: `${RUN} tests/conformance/authorization.ts`,
  server: `${RUN} tests/conformance/server.ts`,
};

answerHelp(`\n\nThere are: ${Object.keys(SUITES).join(", ")}`);
const isNamed = Deno.args[0] !== undefined && !Deno.args[0].startsWith("-");
const name = isNamed ? Deno.args[0] : "all";
if (!Object.hasOwn(SUITES, name)) {
  console.error(
    `There is no suite ${name}. There are: ${Object.keys(SUITES).join(", ")}`,
  );
  Deno.exit(2);
}
const [, ...words] = SUITES[name].split(" ");
/** The files of a pattern in the last part of a path, as a shell lists them. */
const args = words.flatMap((word) => {
  const [, folder, end] = /^([\w/]+\/)\*(\w+\.ts)$/.exec(word) ?? [];
  if (folder === undefined) return [word];
  return [...Deno.readDirSync(folder)].map(({ name }) => folder + name)
    .filter((path) => path.endsWith(end)).sort();
});
const given = isNamed ? Deno.args.slice(1) : Deno.args;
/** Flags of `deno test` come before the folders, which may end with `--`. */
const rest = args.at(-1) === "--" || args[0] === "run"
  ? [...args, ...given]
  : [args[0], ...given, ...args.slice(1)];
const { code } = await new Deno.Command(Deno.execPath(), { args: rest })
  .spawn().status;
Deno.exit(code);
