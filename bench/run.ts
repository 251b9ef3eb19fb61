/**
 * `deno task bench`: this server, its peers and the limit side by side.
 *
 *     --rounds=3      how often everything is repeated, in turns
 *     --seconds=3     how long one load lasts
 *     --only=a,b      servers whose names begin with a or b
 *     --rows=a,b      what to measure: call, echo, tools, list, streams, cold;
 *                     and when asked for database (fills data/ for minutes), flood
 *     --records=N     sessions and grants in the big database, a million
 *
 * @module
 */
import { parseArgs } from "node:util";
import { checkWrk } from "./load.ts";
import { bundled, limit, others, own, type Server } from "./servers.ts";
import { type Row, rows } from "./rows/mod.ts";
import type { Sample } from "./statistics.ts";

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    rows: { type: "string", default: "call,echo,tools,list,streams,cold" },
    records: { type: "string", default: "1000000" },
  },
});
const rounds = count("rounds");
const seconds = count("seconds");
const records = count("records");
const servers = chosen(
  [limit, ...own, ...bundled, ...others],
  options.only,
  (server) => server.name,
);
const measured = chosen(rows, options.rows, (row) => row.name);

try {
  await checkWrk();
} catch (error) {
  console.error((error as Error).message);
  Deno.exit(1);
}
if (servers.some((server) => others.includes(server))) {
  // Node reads the same installation as Deno.
  await deno(new URL("peers", import.meta.url), "install", "--frozen");
}
if (servers.some((server) => bundled.includes(server))) {
  await deno(new URL("..", import.meta.url), "task", "bundle");
}
for (const row of measured) {
  console.log(`\n## ${row.title}\n`);
  console.log(row.report(await measure(row)));
}

/** The samples of each server, as many as rounds, the servers taking turns. */
async function measure(row: Row): Promise<Map<Server, Sample[]>> {
  const taking = servers.filter((server) => row.takes(server));
  const samples = new Map(taking.map((server) => [server, [] as Sample[]]));
  for (let round = 0; round < rounds; round++) {
    // There and back, so that a drift of the machine favours nobody.
    for (const server of round % 2 === 0 ? taking : taking.toReversed()) {
      console.error(`${row.name}, round ${round + 1}: ${server.name}`);
      samples.get(server)!.push(
        await row.measure(server, { seconds, records }),
      );
    }
  }
  return samples;
}

function count(option: "rounds" | "seconds" | "records"): number {
  const value = Number(options[option]);
  if (Number.isInteger(value) && value > 0) return value;
  console.error(`--${option} is a whole number above 0`);
  Deno.exit(1);
}

function chosen<T>(
  all: readonly T[],
  list: string,
  name: (item: T) => string,
): T[] {
  const beginnings = list.split(",").filter(Boolean);
  return all.filter((item) =>
    beginnings.length === 0 ||
    beginnings.some((beginning) => name(item).startsWith(beginning))
  );
}

async function deno(cwd: URL, ...args: string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [args[0], "--quiet", ...args.slice(1)],
    cwd,
    stdout: "null",
  });
  const { success } = await command.output();
  if (!success) throw new Error(`deno ${args.join(" ")} failed`);
}
