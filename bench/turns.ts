/**
 * `deno task bench:turns`: the processor time of a call, with all servers
 * running at once and taking turns of a few milliseconds. Whatever else the
 * machine has to do disturbs them alike, so the ratios hold where requests
 * per second do not.
 *
 *     --turns=400     turns of each server
 *     --only=a,b      servers whose names begin with a or b, and the limit
 *
 * @module
 */
import { parseArgs } from "node:util";
import { Burst, BURST_CALLS } from "./burst.ts";
import { type Call, callEcho, callHealth } from "./client.ts";
import { type Running, start } from "./process.ts";
import { limit, others, own, type Server } from "./servers.ts";
import { print, quantile, ratios, table } from "./statistics.ts";

/** Turns before anything counts: the compiler takes its time. */
const WARM_UP_TURNS = 150;

/** A turn of these takes as long as all others' together. */
const SLOW = ["fastmcp", "sdk-v1"];

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    turns: { type: "string", default: "400" },
    only: { type: "string", default: "" },
  },
});

/** A server with some tools, and the microseconds of a call in each turn. */
interface Contestant {
  name: string;
  server: Server;
  tools: number;
  microseconds: number[];
}

function contestants(): Contestant[] {
  const wanted = options.only.split(",").filter(Boolean);
  const few = [...own, ...others].map((server) => ({
    name: server.name,
    server,
    tools: 3,
  }));
  const many = own.filter(({ login }) => login === "none")
    .map((server) => ({
      name: `${server.name}, 1,000 tools`,
      server,
      tools: 1000,
    }));
  return [
    { name: limit.name, server: limit, tools: 3 },
    ...[...few, ...many].filter(({ name }) =>
      !SLOW.some((slow) => name.startsWith(slow)) &&
      (wanted.length === 0 || wanted.some((begin) => name.startsWith(begin)))
    ),
  ].map((contestant) => ({ ...contestant, microseconds: [] }));
}

/** Lets every server answer `call` in turn. */
async function compete(call: Call): Promise<Contestant[]> {
  const all = contestants();
  await using stack = new AsyncDisposableStack();
  const running: Running[] = [];
  const bursts: Burst[] = [];
  for (const { server, tools } of all) {
    const one = await start(server, { tools });
    stack.defer(one.stop);
    running.push(one);
    bursts.push(stack.use(await Burst.prepare(one, call)));
  }
  for (let turn = 0; turn < WARM_UP_TURNS; turn++) {
    for (const burst of bursts) await burst.run();
  }
  const order = all.map((_, index) => index);
  for (let turn = 0; turn < Number(options.turns); turn++) {
    // There and back, so that a drift of the machine favours nobody.
    for (const index of turn % 2 === 0 ? order : order.toReversed()) {
      const before = running[index].scheduledSeconds();
      await bursts[index].run();
      const seconds = running[index].scheduledSeconds() - before;
      all[index].microseconds.push(seconds / BURST_CALLS * 1e6);
    }
  }
  return all;
}

function report(all: readonly Contestant[]): string {
  const of = (name: string) =>
    all.find((contestant) => contestant.name === name)?.microseconds;
  const times = (numerator?: number[], denominator?: number[]) =>
    numerator && denominator ? quartiles(ratios(numerator, denominator)) : "-";
  return table(
    ["", "µs per call", "of the limit", "mcp-lite / it", "sdk 2026 / it"],
    all.map(({ name, microseconds }) => [
      name,
      quartiles(microseconds),
      times(of(limit.name), microseconds),
      times(of("mcp-lite"), microseconds),
      times(of("sdk 2026"), microseconds),
    ]),
  );
}

/** `median (first quartile..third quartile)`. */
function quartiles(values: readonly number[]): string {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((fraction) =>
    print(quantile(values, fraction))
  );
  return `${middle} (${low}..${high})`;
}

for (const [title, call] of [["echo", callEcho], ["health", callHealth]]) {
  console.log(`\n## \`tools/call ${title}\`, in turns\n`);
  console.log(report(await compete(call as Call)));
}
