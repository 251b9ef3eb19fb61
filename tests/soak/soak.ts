/**
 * Many clients of both generations on two processes. They ask, answer
 * elsewhere, cancel and leave at random. Exits 1 when an answer was lost or
 * went astray, or when something leaks.
 *
 *     deno task soak --minutes=10 --clients=200
 *
 * @module
 */
import { answerHelp } from "../kit/help.ts";
import { parseArgs } from "node:util";
import { print, table } from "../../bench/statistics.ts";
import { type Member, startCluster } from "../kit/cluster.ts";
import { findLeftovers } from "./leftovers.ts";
import { type Round, ROUNDS, World } from "./rounds.ts";

/** The time after which a round has lost something. */
const ROUND_MILLISECONDS = 60_000;
const SAMPLE_MILLISECONDS = 15_000;
/** The time for the last rounds and their tools to end. */
const IDLE_MILLISECONDS = 60_000;
/** The accepted growth of an idle process's heap since the warm-up. */
const HEAP_GROWTH_MIB = 10;
/** The connections that clients and the database keep open. */
const DESCRIPTOR_GROWTH = 10;

/** One sample of one process; the heap is measured after garbage collection. */
interface Vitals {
  running: number;
  heapMiB: number;
  residentMiB: number;
  descriptors: number;
}

async function look(member: Member): Promise<Vitals> {
  const { structuredContent: { pid, running, heapBytes } } = await member.tool(
    "vitals",
  );
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const [, kibibytes] = status.match(/VmRSS:\s+(\d+)/)!;
  const descriptors = await Array.fromAsync(Deno.readDir(`/proc/${pid}/fd`));
  return {
    running,
    heapMiB: heapBytes / 2 ** 20,
    residentMiB: Number(kibibytes) / 1024,
    descriptors: descriptors.length,
  };
}

/** Plays rounds until the time is over; gives the failures. */
async function play(
  world: World,
  round: Round,
  client: number,
  deadline: number,
): Promise<string[]> {
  const wrongs = [];
  for (let n = 1; Date.now() < deadline; n++) {
    const name = `${round.name}-${client}-${n}`;
    try {
      await inTime(round(world, name));
    } catch (error) {
      wrongs.push(`${name}: ${error}`);
    }
  }
  return wrongs;
}

async function inTime(round: Promise<void>): Promise<void> {
  let timer;
  const late = new Promise<never>((_, reject) => {
    const error = new Error("Something was lost: the round does not end");
    timer = setTimeout(() => reject(error), ROUND_MILLISECONDS);
  });
  try {
    await Promise.race([round, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function untilIdle(members: readonly Member[]): Promise<Vitals[]> {
  const deadline = Date.now() + IDLE_MILLISECONDS;
  for (;;) {
    const vitals = await Promise.all(members.map(look));
    const isIdle = vitals.every(({ running }) => running === 0);
    if (isIdle || Date.now() > deadline) return vitals;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** One sample of all processes. */
interface Sample {
  time: string;
  vitals: Vitals[];
}

const MEASURES = ["running", "heapMiB", "residentMiB", "descriptors"] as const;

function lineOf({ time, vitals }: Sample): string[] {
  const numbers = vitals.flatMap((v) => MEASURES.map((name) => print(v[name])));
  return [time, ...numbers];
}

/** Lets clients play, and samples the processes meanwhile and afterwards. */
async function soak(
  members: readonly Member[],
  world: World,
  { minutes, clients }: { minutes: number; clients: number },
): Promise<{ samples: Sample[]; wrongs: string[] }> {
  const started = Date.now();
  const deadline = started + minutes * 60_000;
  const playing = Array.from(
    { length: clients },
    (_, i) => play(world, ROUNDS[i % ROUNDS.length], i, deadline),
  );
  const samples: Sample[] = [];
  while (Date.now() + SAMPLE_MILLISECONDS < deadline) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MILLISECONDS));
    const time = `${Math.round((Date.now() - started) / 1000)} s`;
    const vitals = await Promise.all(members.map(look));
    samples.push({ time, vitals });
    console.log(lineOf({ time, vitals }).join("\t"));
  }
  const wrongs = (await Promise.all(playing)).flat();
  samples.push({ time: "idle", vitals: await untilIdle(members) });
  return { samples, wrongs };
}

/**
 * Finds the resources of which an idle process has more than after the warm-up.
 */
function findLeaks(samples: readonly Sample[]): string[] {
  const { vitals: warm } = samples[0];
  return samples.at(-1)!.vitals.flatMap((idle, i) => {
    const leaks = [];
    if (idle.running > 0) leaks.push(`${idle.running} requests never end`);
    const heap = idle.heapMiB - warm[i].heapMiB;
    if (heap > HEAP_GROWTH_MIB) leaks.push(`the heap grew by ${heap} MiB`);
    const descriptors = idle.descriptors - warm[i].descriptors;
    if (descriptors > DESCRIPTOR_GROWTH) {
      leaks.push(`${descriptors} descriptors are open`);
    }
    return leaks.map((leak) => `Process ${i + 1}: ${leak}`);
  });
}

function printCounts(title: string, counts: ReadonlyMap<string, number>): void {
  const lines = [...counts].sort().map(([name, n]) => [name, String(n)]);
  console.log(table([title, "count"], lines));
}

async function main(): Promise<boolean> {
  answerHelp();
  const { values: { minutes, clients } } = parseArgs({
    args: Deno.args,
    options: {
      minutes: { type: "string", default: "10" },
      clients: { type: "string", default: "200" },
    },
  });
  await using cluster = await startCluster({
    DENO_V8_FLAGS: "--expose-gc",
    LOG_LEVEL: "warning",
  });
  const { a, b, kv } = cluster;
  const world = new World([a, b]);
  const { samples, wrongs } = await soak([a, b], world, {
    minutes: Number(minutes),
    clients: Number(clients),
  });
  const leftovers = await findLeftovers(kv);
  wrongs.push(...findLeaks(samples), ...leftovers.wrongs);
  console.log(table(
    ["", ...["A", "B"].flatMap((p) => MEASURES.map((name) => `${p} ${name}`))],
    samples.map(lineOf),
  ));
  printCounts("what happened", world.counts);
  printCounts("records in the database", leftovers.counts);
  for (const wrong of wrongs.slice(0, 50)) console.error(wrong);
  console.log(`${wrongs.length} things went wrong`);
  return wrongs.length === 0;
}

if (import.meta.main) Deno.exit(await main() ? 0 : 1);
