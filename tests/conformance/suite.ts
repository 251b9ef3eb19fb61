/**
 * Runs the official conformance suite against the fixture server: as one
 * process, and as two processes on one database that take turns; if `KV_PATH`
 * names a database, as three on that one.
 *
 *     deno task test conformance
 *
 * @module
 */
import { startServerProcess } from "../kit/server_process.ts";
import { startProxy } from "./proxy.ts";

/** Pinned: the dist-tag `latest` is an older series. */
const SUITE = "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12";

/**
 * The runs: everything, and the scored set of each revision. The suite skips
 * capabilities that a server does not declare, so passes are counted too.
 */
const RUNS = [
  { args: ["--suite", "all"], passes: 272 },
  { args: ["--requirements", "2025-11-25"], passes: 80 },
  { args: ["--requirements", "2026-07-28"], passes: 196 },
];

/** One entry of a scenario's `checks.json`. */
interface Check {
  id: string;
  name: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED";
  errorMessage?: string;
}

/** The result of one run of the suite. */
interface Run {
  /** Every check, by scenario. */
  checks: ReadonlyMap<string, Check[]>;
  /** Scenarios that a revision's requirements include but do not count. */
  unscored: ReadonlySet<string>;
}

/** Runs the suite once. */
async function runSuite(url: string, args: readonly string[]): Promise<Run> {
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
    const decoder = new TextDecoder();
    const printed = decoder.decode(stdout);
    if (checks.size === 0 || (!success && !failed)) {
      throw new Error(printed + decoder.decode(stderr));
    }
    const unscored = printed.matchAll(/^ {2}\S (\S+) \([^)]+\)$/gm);
    return { checks, unscored: new Set([...unscored].map(([, name]) => name)) };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function isFailure({ status }: Check): boolean {
  return status === "FAILURE";
}

/**
 * Prints the counts of one run and every failure; true if none failed and at
 * least `passes` passed.
 */
function report(
  title: string,
  { checks, unscored }: Run,
  passes: number,
): boolean {
  const all = [...checks.values()].flat();
  const count = (status: Check["status"]) =>
    all.filter((check) => check.status === status).length;
  const failures = count("FAILURE");
  const scored = [...checks].filter(([scenario]) => !unscored.has(scenario));
  const passed = scored.filter(([, entries]) => !entries.some(isFailure));
  console.log(
    `${title}: ${passed.length} of ${scored.length} scenarios; checks: ` +
      `${count("SUCCESS")} passed, ${failures} failed, ` +
      `${count("WARNING")} warnings, ${count("SKIPPED")} not applicable`,
  );
  for (const [scenario, entries] of checks) {
    for (const { status, id, name, errorMessage } of entries) {
      if (status !== "FAILURE" && status !== "WARNING") continue;
      console.log(`  ${status} ${scenario} ${id} ${name}: ${errorMessage}`);
    }
  }
  return failures === 0 && count("SUCCESS") >= passes;
}

/** Runs everything against one set of processes; true if all is well. */
async function conform(title: string, url: string): Promise<boolean> {
  let conforms = true;
  for (const { args, passes } of RUNS) {
    const run = await runSuite(url, args);
    const name = `${title}, ${args.join(" ")}`;
    conforms = report(name, run, passes) && conforms;
  }
  return conforms;
}

async function main(): Promise<boolean> {
  const directory = await Deno.makeTempDir({ prefix: "tool-server-" });
  await using processes = new AsyncDisposableStack();
  const remote = Deno.env.get("KV_PATH");
  const urls: string[] = [];
  const start = async () => {
    const process = await startServerProcess({
      entry: "tests/conformance/server.ts",
      kvPath: remote ?? `${directory}/conformance.db`,
    });
    urls.push(processes.use(process).url);
  };
  try {
    await start();
    if (remote === undefined) {
      const alone = await conform("one process", urls[0]);
      await start();
      await using proxy = startProxy(urls);
      return await conform("two processes", proxy.url) && alone;
    }
    await start();
    await start();
    await using proxy = startProxy(urls);
    return await conform("three processes", proxy.url);
  } finally {
    await processes.disposeAsync();
    await Deno.remove(directory, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await main() ? 0 : 1);
