/**
 * The steps of a client in one round. Every round has its own name, which must
 * come back to it and to no other.
 *
 * @module
 */
import { fingerprint } from "../../src/core/crypto/crypto.ts";
import type { Member } from "../kit/cluster.ts";
import { Events, messagesOf, resultOf } from "../kit/answer.ts";
import type { Json } from "../kit/message.ts";
import type { TestSession } from "../kit/server.ts";

/** One round of one client. @throws {Error} when a promise was broken */
export type Round = (world: World, name: string) => Promise<void>;

/** The processes, and the results of the rounds. */
export class World {
  readonly counts = new Map<string, number>();

  constructor(private readonly members: readonly Member[]) {}

  /** Gives any of the processes. */
  get any(): Member {
    return pick(this.members);
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }
}

function pick<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)];
}

/** Waits as long as a person or a model might take, or less. */
function think(milliseconds = 4000): Promise<void> {
  const pause = Math.random() * milliseconds;
  return new Promise((resolve) => setTimeout(resolve, pause));
}

function check(isKept: boolean, promise: string, found: unknown): void {
  if (isKept) return;
  throw new Error(`${promise}: ${JSON.stringify(found)}`);
}

/** Waits for something that passes through the database. */
async function settle<T>(
  look: () => Promise<T>,
  isSettled: (value: T) => boolean,
): Promise<T> {
  for (let tries = 0;; tries++) {
    const value = await look();
    if (isSettled(value)) return value;
    check(tries < 60, "It settles", value);
    await think(500);
  }
}

async function drop(response: Response | Promise<Response>): Promise<void> {
  await (await response).body?.cancel();
}

/** Posts a response or a notification, to any process. */
async function post(session: TestSession, message: Json): Promise<void> {
  const { status, body } = await session.post({ jsonrpc: "2.0", ...message });
  await body?.cancel();
  check(status === 202, "It is accepted", status);
}

const asking: Round = async (world, name) => {
  const opened = await world.any.openSession({
    capabilities: { elicitation: {}, sampling: {} },
  });
  const at = world.any;
  const anywhere = () => opened.at(world.any);
  const isSampling = Math.random() < 0.2;
  const tool = isSampling ? "sample" : "ask";
  const params = { name: tool, arguments: { name } };
  const events = new Events(
    await opened.at(at).request("tools/call", params, name),
  );
  const { id, params: question } = await events.read();
  const asked = isSampling
    ? question.messages[0].content.text
    : question.message;
  check(asked === name, "The question is one's own", [name, asked]);
  await think();
  const text = name.repeat(isSampling ? 1 + Math.random() * 10_000 : 1);
  const result = isSampling
    ? { role: "assistant", model: "m", content: { type: "text", text } }
    : { action: "accept", content: { word: name } };
  const dice = Math.random();
  if (dice < 0.7) {
    await post(anywhere(), { id, result });
    const { result: { content } } = await events.read();
    const answer = JSON.parse(content[0].text);
    check(answer.name === name, "The result is one's own", [name, answer]);
    check(
      isSampling
        ? answer.fingerprint === fingerprint(text)
        : answer.said === name,
      "The answer is one's own",
      [name, answer],
    );
    world.count(`${tool}: answered`);
  } else if (dice < 0.85) {
    const method = "notifications/cancelled";
    await post(anywhere(), { method, params: { requestId: name } });
    const rest = await Array.fromAsync(events);
    check(rest.length === 0, "What was cancelled is not answered", rest);
    world.count(`${tool}: cancelled`);
  } else if (dice < 0.95 && !isSampling) {
    await events.close();
    await post(anywhere(), { id, result });
    const { outcome } = await settle(
      async () => (await at.tool("look", { name })).structuredContent,
      ({ outcome }) => outcome !== null,
    );
    check(
      JSON.parse(outcome).said === name,
      "An answer reaches a tool whose client dropped its connection",
      outcome,
    );
    world.count(`${tool}: dropped, then answered`);
  } else {
    await events.close();
    world.count(`${tool}: dropped`);
  }
  await events.close();
  await drop(anywhere().end());
};

const counting: Round = async (world, name) => {
  const steps = 5 + Math.floor(Math.random() * 20);
  const leaving = new AbortController();
  const isQuiet = Math.random() < 0.2;
  const response = await world.any.call("tools/call", {
    name: "count",
    arguments: { name, steps, pauseMilliseconds: 150 },
  }, {
    id: name,
    meta: isQuiet ? {} : { progressToken: name },
    signal: leaving.signal,
  });
  const checkResult = ({ id, result }: Json) => {
    const { text } = result.content[0];
    check(text === name && id === name, "The result is one's own", text);
    world.count("count: counted");
  };
  if (isQuiet) return checkResult((await messagesOf(response)).at(-1));
  const leavesAt = Math.random() < 0.3 ? Math.random() * steps : Infinity;
  const events = new Events(response);
  let last = 0;
  for (;;) {
    const message = await events.read();
    const { params } = message;
    if (!params) return checkResult(message);
    check(params.progressToken === name, "Progress is one's own", params);
    check(params.progress > last, "Progress grows", [last, params.progress]);
    last = params.progress;
    if (last >= leavesAt) {
      leaving.abort();
      world.count("count: stream closed");
      return;
    }
  }
};

const listening: Round = async (world, name) => {
  const uri = `test://${name}`;
  const notifications = { resourceSubscriptions: [uri] };
  const response = await world.any.call("subscriptions/listen", {
    notifications,
  }, { id: name });
  const events = new Events(response);
  await events.read();
  for (let times = 1 + Math.random() * 3; times > 0; times--) {
    await think();
    await world.any.tool("touch", { uri });
    const { params } = await events.read();
    check(params.uri === uri, "Only one's own resource is heard", params);
    world.count("listen: heard");
  }
  await events.close();
};

const CAPABILITIES = {
  elicitation: {},
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

const tasking: Round = async (world, name) => {
  const call = async (method: string, params: Json) =>
    await resultOf(
      world.any.call(method, params, { id: name, capabilities: CAPABILITIES }),
    );
  const { taskId } = await call("tools/call", {
    name: "ask_task",
    arguments: { name },
  });
  const get = () => call("tasks/get", { taskId });
  const { inputRequests } = await settle(
    get,
    ({ status }) => status === "input_required",
  );
  const [[key, question]] = Object.entries<Json>(inputRequests);
  check(question.params.message === name, "The question is one's own", [
    name,
    question,
  ]);
  await think();
  if (Math.random() < 0.3) {
    await call("tasks/cancel", { taskId });
    const { status } = await get();
    check(status === "cancelled", "A cancelled task is cancelled", status);
    world.count("task: cancelled");
    return;
  }
  const isFollowed = Math.random() < 0.5;
  const following = isFollowed && new Events(
    await world.any.call("subscriptions/listen", {
      notifications: { taskIds: [taskId] },
    }, { id: name, capabilities: CAPABILITIES }),
  );
  const answer = { action: "accept", content: { word: name } };
  await call("tasks/update", { taskId, inputResponses: { [key]: answer } });
  const { result } = following
    ? await lastState(following)
    : await settle(get, ({ status }) => status === "completed");
  const { said } = JSON.parse(result.content[0].text);
  check(said === name, "The answer is one's own", [name, said]);
  world.count(`task: completed, ${isFollowed ? "followed" : "polled"}`);
};

/** Gives the state of the one followed task once it is completed. */
async function lastState(events: Events): Promise<Json> {
  for await (const { params } of events) {
    if (params.status !== "completed") continue;
    await events.close();
    return params;
  }
  throw new Error("The stream ended before the task");
}

/** Every kind of round; clients are spread over them evenly. */
export const ROUNDS: readonly Round[] = [asking, counting, listening, tasking];
