/**
 * Runs the official conformance suite against the fixture server: as one
 * process, and as two processes on one database that take turns.
 *
 *     deno task conformance
 *
 * @module
 */
import { startServer } from "../interop/server_process.ts";
import { startProxy } from "./proxy.ts";

/** Pinned: the dist-tag `latest` is an older series. */
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";

/** What is run: everything strictly, and the scored set of each revision. */
const RUNS = [
  ["--suite", "all"],
  ["--requirements", "2025-11-25"],
  ["--requirements", "2026-07-28"],
];

/** One entry of a scenario's `checks.json`. */
interface Check {
  id: string;
  name: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  errorMessage?: string;
}

/** Runs the suite once and gives every check, by scenario. */
async function runSuite(
  url: string,
  args: readonly string[],
): Promise<Map<string, Check[]>> {
  const directory = await Deno.makeTempDir({ prefix: "conformance-" });
  try {
    const { success, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      {
        args: [
          ...["run", "--quiet", "--allow-all", "--no-config", "--no-lock"],
          ...[SUITE, "server", "--url", `${url}/mcp`],
          ...["--output-dir", directory, ...args],
        ],
        stdin: "null",
      },
    ).output();
    const checks = new Map<string, Check[]>();
    for await (const { name } of Deno.readDir(directory)) {
      const [scenario] = name.replace(/^server-/, "").split(
        /-\d{4}-\d\d-\d\dT/,
      );
      const path = `${directory}/${name}/checks.json`;
      checks.set(scenario, JSON.parse(await Deno.readTextFile(path)));
    }
    const failed = [...checks.values()].flat().some(isFailure);
    if (checks.size === 0 || (!success && !failed)) {
      const decoder = new TextDecoder();
      throw new Error(decoder.decode(stdout) + decoder.decode(stderr));
    }
    return checks;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function isFailure({ status }: Check): boolean {
  return status === "FAILURE";
}

/** Prints the counts of one run and every failure; whether all is well. */
function report(title: string, checks: ReadonlyMap<string, Check[]>): boolean {
  const all = [...checks.values()].flat();
  const count = (status: Check["status"]) =>
    all.filter((check) => check.status === status).length;
  const failures = count("FAILURE");
  console.log(
    `${title}: ${count("SUCCESS")} passed, ${failures} failed, ` +
      `${count("WARNING")} warnings, ${count("SKIPPED")} not applicable, ` +
      `in ${checks.size} scenarios`,
  );
  for (const [scenario, entries] of checks) {
    for (const { status, id, name, errorMessage } of entries) {
      if (status !== "FAILURE" && status !== "WARNING") continue;
      console.log(`  ${status} ${scenario} ${id} ${name}: ${errorMessage}`);
    }
  }
  return failures === 0;
}

/** Runs everything against one set of processes; whether all is well. */
async function conform(title: string, url: string): Promise<boolean> {
  let conforms = true;
  for (const args of RUNS) {
    const checks = await runSuite(url, args);
    conforms = report(`${title}, ${args.join(" ")}`, checks) && conforms;
  }
  return conforms;
}

async function main(): Promise<boolean> {
  const directory = await Deno.makeTempDir({ prefix: "tool-server-" });
  try {
    const options = {
      entry: "tests/conformance/server.ts",
      kvPath: `${directory}/conformance.db`,
    };
    await using first = await startServer(options);
    const alone = await conform("one process", first.url);
    await using second = await startServer(options);
    await using proxy = startProxy([first.url, second.url]);
    const together = await conform("two processes", proxy.url);
    return alone && together;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await main() ? 0 : 1);
