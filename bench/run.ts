/**
 * `deno task bench`: this server, its peers and the limit side by side.
 *
 *     --rounds=3      how often everything is repeated, in turns
 *     --seconds=3     how long one load lasts
 *     --only=a,b      servers whose names begin with a or b
 *     --rows=a,b      what to measure: call, echo, tools, list, streams, cold;
 *                     and when asked for database (fills data/ for minutes), flood
 *     --records=N     connections in the big database, a million
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import { parseArgs } from "node:util";
import { chosen, count } from "./arguments.ts";
import { checkWrk } from "./load.ts";
import {
  bare,
  bundled,
  others,
  own,
  prepare,
  type Server,
  unlogged,
} from "./servers.ts";
import { type Row, rows } from "./rows/mod.ts";
import type { Sample } from "./statistics.ts";

answerHelp();
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
const rounds = count("rounds", options.rounds);
const seconds = count("seconds", options.seconds);
const records = count("records", options.records);
const measured = chosen(rows, options.rows);
const servers = chosen(
  [...bare, ...own, unlogged, ...bundled, ...others],
  options.only,
).filter((server) => measured.some((row) => row.takes(server)));

try {
  await checkWrk();
} catch (error) {
  console.error((error as Error).message);
  Deno.exit(1);
}
await prepare(servers);
for (const row of measured) {
  console.log(`\n## ${row.title}\n`);
  console.log(row.report(await measure(row)));
}

/** Takes a sample of each server in every round, the servers in turns. */
async function measure(row: Row): Promise<Map<Server, Sample[]>> {
  const taking = servers.filter((server) => row.takes(server));
  const samples = new Map(taking.map((server) => [server, [] as Sample[]]));
  for (let round = 0; round < rounds; round++) {
    // There and back, so that a drift of the machine favours no one.
    for (const server of round % 2 === 0 ? taking : taking.toReversed()) {
      console.error(`${row.name}, round ${round + 1}: ${server.name}`);
      samples.get(server)!.push(
        await row.measure(server, { seconds, records }),
      );
    }
  }
  return samples;
}
