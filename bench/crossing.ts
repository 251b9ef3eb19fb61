/**
 * The time that an answer, a cancellation or a change takes to reach the other
 * process of two on one database.
 *
 *     deno task bench crossing
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import { pause } from "../src/core/clock.ts";
import { type Cluster, startCluster } from "../tests/kit/cluster.ts";
import { Events } from "../tests/kit/answer.ts";
import type { Json } from "../tests/kit/message.ts";
import { until } from "../tests/kit/wait.ts";
import { median, print, quantile, table } from "./statistics.ts";

const ROUNDS = 50;

/** One way from process to process; a round gives milliseconds. */
interface Crossing {
  title: string;
  /** The largest acceptable median, in milliseconds. */
  wanted: number;
  /**
   * Runs one round; it may start at any moment of the other process's polls.
   */
  round(cluster: Cluster, name: string): Promise<number>;
}

/** The time that a person takes; by then, the wait has slowed down. */
const PERSON_MILLISECONDS = 1000;

async function answered(
  { a, b }: Cluster,
  name: string,
  afterMilliseconds: number,
): Promise<number> {
  const session = await a.openSession({ capabilities: { elicitation: {} } });
  const params = { name: "ask", arguments: { name } };
  const events = new Events(await session.request("tools/call", params));
  const { id } = await events.read();
  await pause(afterMilliseconds);
  const startedMilliseconds = Date.now();
  const result = { action: "accept", content: { word: name } };
  const response = await session.at(b).post({ jsonrpc: "2.0", id, result });
  await response.body?.cancel();
  const message: Json = await events.read();
  await events.close();
  const { resumedMilliseconds } = JSON.parse(message.result.content[0].text);
  return resumedMilliseconds - startedMilliseconds;
}

async function cancelled({ a, b }: Cluster, name: string): Promise<number> {
  const session = await a.openSession();
  const params = {
    name: "hold",
    arguments: { name },
    _meta: { progressToken: 1 },
  };
  const events = new Events(await session.request("tools/call", params, name));
  await events.read();
  await pause(Math.random() * 250);
  const startedMilliseconds = Date.now();
  const response = await session.at(b)
    .notify("notifications/cancelled", { requestId: name });
  await response.body?.cancel();
  await events.read();
  let firedMilliseconds = 0;
  await until(async () => {
    const { structuredContent } = await a.tool("look", { name });
    firedMilliseconds = structuredContent.firedMilliseconds;
    return firedMilliseconds !== null;
  });
  return firedMilliseconds - startedMilliseconds;
}

async function heard({ a, b }: Cluster, name: string): Promise<number> {
  const notifications = { toolsListChanged: true };
  const response = await b.call("subscriptions/listen", { notifications }, {
    id: name,
  });
  const events = new Events(response);
  await events.read();
  await pause(Math.random() * 1000);
  const startedMilliseconds = Date.now();
  const [message] = await Promise.all([
    events.read(),
    a.tool("relist", { list: "tools" }),
  ]);
  const took = Date.now() - startedMilliseconds;
  if (message.method !== "notifications/tools/list_changed") {
    throw new Error(`Heard ${message.method}`);
  }
  await events.close();
  return took;
}

const CROSSINGS: Crossing[] = [
  {
    title: "elicitation answered at once, until the tool resumes",
    wanted: 100,
    round: (cluster, name) => answered(cluster, name, 0),
  },
  {
    title: "elicitation answered after a second, until the tool resumes",
    wanted: 250,
    round: (cluster, name) =>
      answered(cluster, name, PERSON_MILLISECONDS + Math.random() * 250),
  },
  {
    title: "cancellation, until the tool's signal fires",
    wanted: 500,
    round: cancelled,
  },
  {
    title: "list change, until the listener hears",
    wanted: 250,
    round: heard,
  },
];

async function main(): Promise<boolean> {
  await using cluster = await startCluster();
  let isGood = true;
  const lines = [];
  for (const { title, wanted, round } of CROSSINGS) {
    const took = [];
    for (let n = 0; n < ROUNDS; n++) {
      took.push(await round(cluster, `${title} ${n}`));
    }
    isGood &&= median(took) < wanted;
    lines.push([
      title,
      ...[median(took), quantile(took, 0.95), Math.max(...took), wanted].map(
        print,
      ),
    ]);
  }
  const head = [`${ROUNDS} rounds, milliseconds`, "median", "p95", "max"];
  console.log(table([...head, "wanted"], lines));
  return isGood;
}

if (import.meta.main) {
  answerHelp();
  Deno.exit(await main() ? 0 : 1);
}
