/**
 * `deno task bench turns`: the processor time of a call. All servers answer in
 * turns of some milliseconds, so other work of the machine disturbs them
 * alike, and the ratios hold even if requests per second do not.
 *
 *     --turns=150     turns of each server in a round
 *     --rounds=3      how often all servers are started anew
 *     --only=a,b      servers whose names begin with a or b
 *     --calls=a,b     echo, health
 *     --before=REF    compares with this server at a commit, too
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
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
  withAccounts,
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

answerHelp();
const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    turns: { type: "string", default: "150" },
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    calls: { type: "string", default: "echo,health" },
    before: { type: "string" },
  },
});

const turns = count("turns", options.turns);
const rounds = count("rounds", options.rounds);
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
  const some = [
    floor,
    ...watchedBare,
    ...own,
    withAccounts,
    ...watched,
    ...others,
  ].map((
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

/** A server, and the microseconds of a call in each of its turns. */
class Competitor implements AsyncDisposable {
  readonly microseconds: number[] = [];
  #running?: Running;
  #burst?: Burst;

  constructor(private readonly contestant: Contestant) {}

  get name(): string {
    return this.contestant.name;
  }

  /** The turn that only few are quicker than. */
  get least(): number {
    return quantile(this.microseconds, LEAST);
  }

  async start(call: Call): Promise<void> {
    const { server, tools } = this.contestant;
    this.#running = await start(server, { tools });
    this.#burst = await Burst.prepare(this.#running, call);
  }

  /** Answers one burst; gives the microseconds of a call. */
  async turn(): Promise<number> {
    const before = this.#running!.scheduledSeconds();
    await this.#burst!.run();
    const seconds = this.#running!.scheduledSeconds() - before;
    return seconds / BURST_CALLS * 1e6;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#burst?.[Symbol.dispose]();
    await this.#running?.stop();
  }
}

/**
 * Starts all competitors, and measures them turn by turn. A process may be
 * lucky with its compiler or its memory: no round uses one again.
 */
async function compete(
  competitors: readonly Competitor[],
  call: Call,
): Promise<void> {
  await using started = new AsyncDisposableStack();
  for (const competitor of competitors) {
    started.use(competitor);
    await competitor.start(call);
  }
  for (let turn = 0; turn < WARM_UP_TURNS + turns; turn++) {
    // There and back, so that a drift of the machine favours no one.
    const order = turn % 2 === 0 ? competitors : competitors.toReversed();
    for (const competitor of order) {
      const microseconds = await competitor.turn();
      if (turn >= WARM_UP_TURNS) competitor.microseconds.push(microseconds);
    }
  }
}

/**
 * Measures one call on every server; gives the table, the cost of features, and
 * what got dearer.
 */
async function report(
  call: Call,
  before: readonly Server[],
): Promise<{ lines: string; features: string[]; dearer: string[] }> {
  const [least, peer, ...rest] = [limit, FASTEST].map((server) => ({
    name: server.name,
    server,
    tools: 3,
  })).concat(contestants().filter(({ server }) => server !== FASTEST))
    .map((contestant) => {
      const { name } = contestant.server;
      const former = before.find((server) => server.name === name);
      return {
        server: contestant.server,
        today: new Competitor(contestant),
        former: former && new Competitor({ ...contestant, server: former }),
      };
    });
  const rows = [least, peer, ...rest];
  const competitors = rows.flatMap(({ today, former }) =>
    former ? [today, former] : [today]
  );
  for (let round = 0; round < rounds; round++) await compete(competitors, call);
  const head = [
    "",
    "µs per call",
    "of the limit",
    `${FASTEST.name} / it`,
    "of before",
  ];
  const lines = rows.map(({ today, former }) => [
    today.name,
    `${print(median(today.microseconds))} (${print(today.least)})`,
    against(least.today, today),
    against(peer.today, today),
    former ? against(today, former) : "",
  ]);
  const features = rows.flatMap(({ server, today }) => {
    const base = rows.find((row) => row.server === server.without)?.today;
    return base
      ? [`${today.name}: ${against(today, base)} of ${base.name}`]
      : [];
  });
  const dearer = rows.filter(({ today, former }) =>
    former && ratiosOf(today, former).every((ratio) => ratio > DEARER)
  );
  return {
    lines: table(head, lines),
    features,
    dearer: dearer.map(({ today }) => today.name),
  };
}

/** Gives the median of the ratios turn by turn, and the ratio of the least. */
function ratiosOf(one: Competitor, other: Competitor): number[] {
  return [
    median(ratios(one.microseconds, other.microseconds)),
    one.least / other.least,
  ];
}

/** Prints the same, the latter in parentheses. */
function against(one: Competitor, other: Competitor): string {
  const [middle, least] = ratiosOf(one, other).map(print);
  return `${middle} (${least})`;
}

await prepare(others);
await using checkout = options.before === undefined
  ? undefined
  : await checkOut(options.before);
const before = checkout ? serversBefore(checkout.folder) : [];
const words: string[] = [];
for (const { name, call } of calls) {
  const { lines, features, dearer } = await report(call, before);
  console.log(`\n## \`tools/call ${name}\`, in turns\n\n${lines}\n`);
  for (const feature of features) console.log(feature);
  words.push(...dearer.map((server) => `DEARER ${name}, ${server}`));
}
for (const word of words) {
  console.log(`${word}: more than a tenth above ${options.before}`);
}
