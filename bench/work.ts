/**
 * `deno task bench work`: the cost of sleeping tasks. The processor time of a
 * server without requests, and the time of calls while tasks sleep, and
 * while all of them wake in one second.
 *
 *     --tasks=10000     sleeping tasks
 *     --seconds=15      of each measurement
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import { parseArgs } from "node:util";
import { pause } from "../src/core/clock.ts";
import { ANONYMOUS } from "../src/core/caller.ts";
import { Database } from "../src/core/kv/database.ts";
import { checkedKv } from "../src/core/kv/layout.ts";
import { taskRunStore } from "../src/features/work/task_runs.ts";
import { taskStore } from "../src/features/work/tasks.ts";
import { count } from "./arguments.ts";
import { callEcho, clientOf } from "./client.ts";
import { type Running, start } from "./process.ts";
import { own, STATELESS } from "./servers.ts";
import { print, quantile, table } from "./statistics.ts";

answerHelp();
const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    tasks: { type: "string", default: "10000" },
    seconds: { type: "string", default: "15" },
  },
});
const tasks = count("tasks", options.tasks);
const seconds = count("seconds", options.seconds);

/** The pause between two calls, so that the load leaves the server its core. */
const CALL_MILLISECONDS = 5;
const AT_ONCE = 50;

const sleeping = {
  ...own.find(({ revision, login }) =>
    revision === STATELESS && login === "none"
  )!,
  command: [
    Deno.execPath(),
    ..."run -A --quiet --no-prompt --unstable-kv".split(" "),
    new URL("servers/sleeping.ts", import.meta.url).pathname,
  ],
  withCatalogue: undefined,
  settings: { LOG_LEVEL: "off", CALLS_PER_MINUTE: "0" },
};

/** Stores tasks that sleep until a time. */
async function fill(path: string, until: number): Promise<void> {
  using kv = await Deno.openKv(path);
  const database = new Database(checkedKv(kv));
  const [store, runs] = [taskStore(database), taskRunStore(database)];
  const beginning = {
    input: { until },
    client: { capabilities: {}, revision: STATELESS },
    meta: {},
  };
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (next < tasks) {
      const taskId = `sleeping-${next++}`;
      const run = {
        tool: "nap",
        scopes: [],
        caller: ANONYMOUS,
        keep: 3600,
        address: "",
      };
      const list = `sleeping-${next % 100}`;
      const { claim } = await store
        .createDurable(taskId, run, beginning, list);
      await runs.park(claim, until, []);
    }
  }));
}

/** Counts the tasks that still wait for their time. */
async function waiting(path: string): Promise<number> {
  using kv = await Deno.openKv(path);
  const wakes = kv.list({ prefix: ["wake"] }, { batchSize: 500 });
  return (await Array.fromAsync(wakes)).length;
}

/** Measures the processor time of a server that has nothing to do. */
async function idle(server: Running): Promise<string> {
  await pause(2000);
  const before = server.cpuSeconds();
  await pause(seconds * 1000);
  const used = server.cpuSeconds() - before;
  return `${print(used / seconds * 60 * 1000)} ms a minute`;
}

/** Measures the milliseconds of calls, one after another. */
async function calls(server: Running): Promise<string[]> {
  const client = clientOf(server);
  const took: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    const before = performance.now();
    await client.request(callEcho.method, callEcho.params);
    took.push(performance.now() - before);
    await pause(CALL_MILLISECONDS);
  }
  return [0.5, 0.99, 1].map((part) => `${print(quantile(took, part))} ms`);
}

async function measure(
  name: string,
  until: number | undefined,
): Promise<string[]> {
  const directory = await Deno.makeTempDir();
  const kvPath = `${directory}/work.db`;
  if (until !== undefined) await fill(kvPath, until);
  const server = await start(sleeping, { kvPath });
  try {
    const isDue = until === 0;
    const used = isDue ? "" : await idle(server);
    const before = isDue ? await waiting(kvPath) : 0;
    const took = await calls(server);
    const woken = isDue ? before - await waiting(kvPath) : 0;
    const rate = woken > 0 ? `${print(woken / seconds)} a second` : "";
    return [name, used, ...took, rate];
  } finally {
    await server.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

const later = Math.floor(Date.now() / 1000) + 24 * 60 * 60;
console.log(table(
  ["", "processor, idle", "p50 of a call", "p99", "longest", "woken"],
  [
    await measure("no task", undefined),
    await measure(`${tasks} that sleep`, later),
    await measure(`${tasks} that all wake`, 0),
  ],
));
