/**
 * `deno task bench:turns`: the processor time of a call. All servers answer in
 * turns of some milliseconds, so other work of the machine disturbs them
 * alike, and the ratios hold even if requests per second do not.
 *
 *     --turns=300     turns of each server
 *     --only=a,b      servers whose names begin with a or b
 *     --calls=a,b     echo, health
 *     --before=REF    compares with this server at a commit, too
 *
 * @module
 */
import { parseArgs } from "node:util";
import { chosen, count } from "./arguments.ts";
import { Burst, BURST_CALLS } from "./burst.ts";
import { checkOut } from "./checkout.ts";
import { type Call, callEcho, callHealth } from "./client.ts";
import { type Running, start } from "./process.ts";
import {
  floor,
  limit,
  others,
  own,
  prepare,
  type Server,
  serversBefore,
  watched,
  watchedBare,
} from "./servers.ts";
import { median, print, quantile, ratios, table } from "./statistics.ts";

/** The turns before the measurement: the compiler takes its time. */
const WARM_UP_TURNS = 150;

/**
 * The share of a server's turns that are quicker than its _least_: the very
 * quickest are chance.
 */
const LEAST = 0.05;

/** A call is dearer than before if median and least both exceed this. */
const DEARER = 1.1;

/** The peer that everything is compared with, besides the limit. */
const FASTEST = others.find(({ name }) => name === "mcp-lite")!;

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    turns: { type: "string", default: "300" },
    only: { type: "string", default: "" },
    calls: { type: "string", default: "echo,health" },
    before: { type: "string" },
  },
});

const turns = count("turns", options.turns);
const calls = chosen([
  { name: "echo", call: callEcho },
  { name: "health", call: callHealth },
], options.calls);

interface Contestant {
  name: string;
  server: Server;
  tools: number;
}

function contestants(): Contestant[] {
  const some = [floor, ...watchedBare, ...own, ...watched, ...others].map((
    server,
  ) => ({
    name: server.name,
    server,
    tools: 3,
  }));
  const many = own.filter(({ login }) => login === "none").map((server) => ({
    name: `${server.name}, 1,000 tools`,
    server,
    tools: 1000,
  }));
  return chosen([...some, ...many], options.only);
}

/** A running server that answers one call, over and over. */
class Competitor implements AsyncDisposable {
  /** The microseconds of a call in each turn. */
  microseconds: number[] = [];

  private constructor(
    readonly name: string,
    private readonly running: Running,
    private readonly burst: Burst,
  ) {}

  static async start(
    { name, server, tools }: Contestant,
    call: Call,
  ): Promise<Competitor> {
    const running = await start(server, { tools });
    return new Competitor(name, running, await Burst.prepare(running, call));
  }

  async turn(): Promise<void> {
    const before = this.running.scheduledSeconds();
    await this.burst.run();
    const seconds = this.running.scheduledSeconds() - before;
    this.microseconds.push(seconds / BURST_CALLS * 1e6);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.burst[Symbol.dispose]();
    await this.running.stop();
  }
}

/** Measures the microseconds of a call of each competitor, turn by turn. */
async function compete(
  competitors: readonly Competitor[],
  times: number,
): Promise<void> {
  for (const competitor of competitors) competitor.microseconds = [];
  for (let turn = 0; turn < times; turn++) {
    // There and back, so that a drift of the machine favours no one.
    const order = turn % 2 === 0 ? competitors : competitors.toReversed();
    for (const competitor of order) await competitor.turn();
  }
}

/** Measures one call on every server; gives the table, and what got dearer. */
async function report(
  call: Call,
  before: readonly Server[],
): Promise<{ lines: string; dearer: string[] }> {
  await using stack = new AsyncDisposableStack();
  const competitors: Competitor[] = [];
  const join = async (contestant: Contestant) => {
    const competitor = stack.use(await Competitor.start(contestant, call));
    competitors.push(competitor);
    return competitor;
  };
  const least = await join({ name: limit.name, server: limit, tools: 3 });
  const peer = await join({ name: FASTEST.name, server: FASTEST, tools: 3 });
  const pairs: [Competitor, Competitor?][] = [[least], [peer]];
  for (const contestant of contestants()) {
    if (contestant.server === FASTEST) continue;
    const former = before.find(({ name }) => name === contestant.server.name);
    pairs.push([
      await join(contestant),
      former && await join({ ...contestant, server: former }),
    ]);
  }
  await compete(competitors, WARM_UP_TURNS);
  await compete(competitors, turns);
  const dearer: string[] = [];
  const rows = pairs.map(([{ name, microseconds }, former]) => {
    const times = former && [
      median(ratios(microseconds, former.microseconds)),
      leastOf(microseconds) / leastOf(former.microseconds),
    ];
    if (times?.every((ratio) => ratio > DEARER)) dearer.push(name);
    return [
      name,
      `${print(median(microseconds))} (${print(leastOf(microseconds))})`,
      against(least.microseconds, microseconds),
      against(peer.microseconds, microseconds),
      times ? `${print(times[0])} (${print(times[1])})` : "",
    ];
  });
  const head = [
    "",
    "µs per call",
    "of the limit",
    `${FASTEST.name} / it`,
    "of before",
  ];
  return { lines: table(head, rows), dearer };
}

/** Prints the median of the ratios and, in parentheses, the ratio by least. */
function against(reference: readonly number[], own: readonly number[]): string {
  const least = leastOf(reference) / leastOf(own);
  return `${print(median(ratios(reference, own)))} (${print(least)})`;
}

function leastOf(values: readonly number[]): number {
  return quantile(values, LEAST);
}

await prepare(others);
await using checkout = options.before === undefined
  ? undefined
  : await checkOut(options.before);
const before = checkout ? serversBefore(checkout.folder) : [];
const words: string[] = [];
for (const { name, call } of calls) {
  const { lines, dearer } = await report(call, before);
  console.log(`\n## \`tools/call ${name}\`, in turns\n\n${lines}`);
  words.push(...dearer.map((server) => `DEARER ${name}, ${server}`));
}
for (const word of words) {
  console.log(`${word}: more than a tenth above ${options.before}`);
}
