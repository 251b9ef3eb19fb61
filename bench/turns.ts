/**
 * `deno task bench:turns`: the processor time of a call. Each server takes
 * turns of some milliseconds with the limit and the fastest peer. Other work of
 * the machine disturbs them alike, so the ratios hold even if requests per
 * second do not.
 *
 *     --turns=300     turns of each server
 *     --only=a,b      servers whose names begin with a or b
 *
 * @module
 */
import { parseArgs } from "node:util";
import { chosen, count } from "./arguments.ts";
import { Burst, BURST_CALLS } from "./burst.ts";
import { type Call, callEcho, callHealth } from "./client.ts";
import { type Running, start } from "./process.ts";
import {
  floor,
  limit,
  others,
  own,
  prepare,
  type Server,
  watched,
  watchedBare,
} from "./servers.ts";
import { print, quantile, ratios, table } from "./statistics.ts";

/** The turns before the measurement: the compiler takes its time. */
const WARM_UP_TURNS = 150;

/** The peer that everything is compared with, besides the limit. */
const FASTEST = others.find(({ name }) => name === "mcp-lite")!;

const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    turns: { type: "string", default: "300" },
    only: { type: "string", default: "" },
  },
});

const turns = count("turns", options.turns);

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
  private constructor(
    private readonly running: Running,
    private readonly burst: Burst,
  ) {}

  static async start(
    { server, tools }: Pick<Contestant, "server" | "tools">,
    call: Call,
  ): Promise<Competitor> {
    const running = await start(server, { tools });
    return new Competitor(running, await Burst.prepare(running, call));
  }

  /** Gives the microseconds of a call. */
  async turn(): Promise<number> {
    const before = this.running.scheduledSeconds();
    await this.burst.run();
    const seconds = this.running.scheduledSeconds() - before;
    return seconds / BURST_CALLS * 1e6;
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
): Promise<number[][]> {
  const microseconds: number[][] = competitors.map(() => []);
  const order = competitors.map((_, index) => index);
  for (let turn = 0; turn < times; turn++) {
    // There and back, so that a drift of the machine favours no one.
    for (const index of turn % 2 === 0 ? order : order.toReversed()) {
      microseconds[index].push(await competitors[index].turn());
    }
  }
  return microseconds;
}

async function report(call: Call): Promise<string> {
  await using least = await Competitor.start({ server: limit, tools: 3 }, call);
  await using peer = await Competitor.start(
    { server: FASTEST, tools: 3 },
    call,
  );
  await compete([least, peer], WARM_UP_TURNS);
  const lines: string[][] = [];
  for (const { name, ...contestant } of contestants()) {
    await using one = await Competitor.start(contestant, call);
    await compete([one], WARM_UP_TURNS);
    const [ofLimit, ofPeer, own] = await compete(
      [least, peer, one],
      turns,
    );
    lines.push([
      name,
      quartiles(own),
      quartiles(ratios(ofLimit, own)),
      quartiles(ratios(ofPeer, own)),
    ]);
  }
  return table(
    ["", "µs per call", "of the limit", `${FASTEST.name} / it`],
    lines,
  );
}

/** Prints `median (first quartile..third quartile)`. */
function quartiles(values: readonly number[]): string {
  const [low, middle, high] = [0.25, 0.5, 0.75].map((fraction) =>
    print(quantile(values, fraction))
  );
  return `${middle} (${low}..${high})`;
}

await prepare(others);
for (const [title, call] of [["echo", callEcho], ["health", callHealth]]) {
  console.log(`\n## \`tools/call ${title}\`, in turns\n`);
  console.log(await report(call as Call));
}
