/**
 * Durable work whose processes die at every operation on the database, before
 * it has happened and after it. Time moves only when nothing is at work.
 *
 *     deno task test awaits 1000
 */
import assert from "node:assert/strict";
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import { taskKey, taskStepKey } from "../../src/core/kv/keys.ts";
import { resultOf } from "../kit/answer.ts";
import { MovedTime } from "../kit/fake_time.ts";
import type { Json } from "../kit/message.ts";
import { MortalServer } from "../kit/mortal_server.ts";
import { HastyTimers, Timers } from "../kit/timers.ts";

/** The kills of processes; by default a share of them, spread evenly. */
const KILLS = Number(Deno.args[0] ?? 60);
const STEPS = 20;
/** Steps that are not repeated, and steps that read `once`. */
const UNREPEATED = [4, 12];
const BY_ONCE = [6, 16];
/**
 * Reads `once` and has no `retries`: until that it was read is noted, it is as
 * one that is not repeated.
 */
const ONCE_ALONE = 6;
const TAKEOVER_SECONDS = 35;
/** So long does a run that waits stay in its process. */
const QUIET_MILLISECONDS = 200;
const SIDES = ["dies", "dies later"] as const;
const capabilities = {
  extensions: { "io.modelcontextprotocol/tasks": {} },
  elicitation: {},
};

/** An end of a process. */
interface Kill {
  kind: typeof SIDES[number];
  at: number;
}

/** A step that ran, in a process that was alive then. */
interface Effect {
  taskId: string;
  id: string;
  once?: string;
  isKept: boolean;
}

/** The counts that must stay zero, and what was seen besides. */
interface Counts {
  kills: number;
  tasks: number;
  /** Tasks that failed because a step may have happened, and say so. */
  refused: number;
  repeated: number;
  lost: number;
  unfinished: number;
  twice: number;
  slowestSeconds: number;
}

/** One task, and the processes that die with it. */
class Story implements AsyncDisposable {
  readonly effects: Effect[] = [];
  /** Results as they were in the database when a process had died. */
  readonly kept = new Map<string, unknown>();
  readonly taskIds = new Set<string>();
  takeoverSeconds = 0;
  killed = 0;
  #diedAt?: number;
  #server: MortalServer;

  constructor(
    private readonly kv: Deno.Kv,
    private readonly time: { tick(seconds: number): void },
    private readonly kills: Kill[],
    private readonly isRepeatable: boolean,
  ) {
    this.#server = this.#start();
  }

  /** The operations of the process that lives. */
  get operations(): number {
    return this.#server.operations;
  }

  #start(): MortalServer {
    const server: MortalServer = new MortalServer(
      this.kv,
      { tools: [this.#toolOf(() => server)] },
      this.kills.shift(),
    );
    return server;
  }

  #toolOf(server: () => MortalServer) {
    return tool({
      name: "walk",
      task: { durable: true },
      run: async (_input, { step, sleep, ask, requestId }) => {
        this.taskIds.add(requestId);
        const values: Json = {};
        for (let n = 1; n <= STEPS; n++) {
          if (n === 8) await sleep("nap", 10);
          if (n === 15) {
            const schema = z.object({ word: z.string() });
            const answer = await ask({ message: "On?", schema, key: "on" });
            assert(answer.action === "accept");
            values.word = answer.content.word;
          }
          const id = `s${n}`;
          const isUnrepeated = !this.isRepeatable && UNREPEATED.includes(n);
          const isAlone = !this.isRepeatable && n === ONCE_ALONE;
          const options = isUnrepeated || isAlone ? {} : { retries: STEPS };
          values[id] = await step(id, async (context) => {
            const once = BY_ONCE.includes(n) ? context.once : undefined;
            const key = taskStepKey(requestId, `step:${id}`);
            const { value } = await this.kv.get<Json>(key);
            // A dead process does nothing, though its code goes on here.
            if (!server().isDead) {
              const isKept = value?.state === "kept";
              this.effects.push({ taskId: requestId, id, once, isKept });
              this.#noteTakeover();
            }
            return crypto.randomUUID();
          }, options);
        }
        return JSON.stringify(values);
      },
    });
  }

  #noteTakeover(): void {
    if (this.#diedAt === undefined) return;
    const seconds = (Date.now() - this.#diedAt) / 1000;
    this.takeoverSeconds = Math.max(this.takeoverSeconds, seconds);
    this.#diedAt = undefined;
  }

  /** Sends a request, again and again if its process dies. */
  async #call(method: string, params: Json): Promise<Json> {
    for (;;) {
      const server = await this.#alive();
      const response = await server.call(method, params, { capabilities });
      if (response.status !== 503) {
        return await resultOf(Promise.resolve(response));
      }
      await response.body?.cancel();
      assert(server.isDead, "a server that lives answers");
    }
  }

  async #alive(): Promise<MortalServer> {
    if (this.#server.isDead) {
      this.killed++;
      this.#diedAt = Date.now();
      const records = this.kv.list<Json>({ prefix: ["task-step"] });
      for await (const { key, value } of records) {
        // Results go when their task has ended.
        if (value.state !== "kept" || !value.result) continue;
        const name = JSON.stringify(key);
        const before = this.kept.get(name) ?? value.result;
        assert.deepEqual(value.result, before, `${name} was kept twice`);
        this.kept.set(name, value.result);
      }
      this.#server = this.#start();
    }
    return this.#server;
  }

  /** Begins a task, and follows it to its end. */
  async run(): Promise<Map<string, Json>> {
    const begun = await this.#call("tools/call", { name: "walk" });
    const ends = new Map<string, Json>();
    // A task whose beginning was not answered has no client, and goes on.
    this.taskIds.add(begun.taskId);
    const deadline = Date.now() + 3600 * 1000;
    while (ends.size < this.taskIds.size) {
      for (const taskId of this.taskIds) {
        const task = await this.#call("tasks/get", { taskId });
        if (task.status === "input_required") {
          const on = { action: "accept", content: { word: taskId } };
          const answer = { taskId, inputResponses: { on } };
          await this.#call("tasks/update", answer);
        } else if (task.status !== "working") ends.set(taskId, task);
      }
      const server = await this.#alive();
      if (server.running > 0) {
        await new Promise((resolve) => setTimeout(resolve));
        continue;
      }
      this.#noteQuiet();
      if (Date.now() > deadline) break;
      this.time.tick(this.#diedAt === undefined ? 5 : 1);
      await server.wake();
    }
    return ends;
  }

  /** Nothing is taken over of work that waits. */
  #noteQuiet(): void {
    const [last] = this.effects.slice(-1);
    if (last?.id === "s7" || last?.id === "s14") this.#diedAt = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}

/** Tells one story, and adds it to the counts. */
async function tell(
  counts: Counts,
  kills: Kill[],
  isRepeatable: boolean,
): Promise<number> {
  using kv = await Deno.openKv(":memory:");
  using time = new MovedTime();
  using _timers = new Timers();
  using _hasty = new HastyTimers([QUIET_MILLISECONDS]);
  await using story = new Story(kv, time, [...kills], isRepeatable);
  const ends = await story.run();
  counts.kills += story.killed;
  for (const taskId of story.taskIds) {
    counts.tasks++;
    const task = ends.get(taskId);
    const own = story.effects.filter((effect) => effect.taskId === taskId);
    if (task?.status === "completed") {
      const values = JSON.parse(task.result.content[0].text);
      if (Object.keys(values).length !== STEPS + 1) counts.lost++;
      if (values.word !== taskId) counts.lost++;
      for (let n = 1; n <= STEPS; n++) {
        const key = JSON.stringify(taskStepKey(taskId, `step:s${n}`));
        const kept = story.kept.get(key) as Json | undefined;
        if (kept && JSON.parse(kept.text) !== values[`s${n}`]) counts.lost++;
      }
    } else if (
      !isRepeatable && task?.status === "failed" &&
      /^The step "s(4|6|12)" may have happened/.test(task.error.message)
    ) counts.refused++;
    else counts.unfinished++;
    counts.repeated += own.filter(({ isKept }) => isKept).length;
    for (let n = 1; n <= STEPS; n++) {
      const some = own.filter(({ id }) => id === `s${n}`);
      const keys = new Set(some.map(({ once }) => once));
      const isTwice = BY_ONCE.includes(n)
        ? keys.size > 1 || keys.has(undefined)
        : !isRepeatable && UNREPEATED.includes(n) && some.length > 1;
      if (isTwice) counts.twice++;
    }
  }
  counts.slowestSeconds = Math.max(
    counts.slowestSeconds,
    story.takeoverSeconds,
  );
  return story.operations;
}

/** Numbers that look random, and are the same in every run. */
function* numbers(): Generator<number, never> {
  for (let state = 1;;) {
    state = (state * 48_271) % 2_147_483_647;
    yield state / 2_147_483_647;
  }
}

Deno.test({
  name: "processes that die anywhere repeat no kept step, and lose none",
  // Operations of the dead hang for ever.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const counts: Counts = {
      kills: 0,
      tasks: 0,
      refused: 0,
      repeated: 0,
      lost: 0,
      unfinished: 0,
      twice: 0,
      slowestSeconds: 0,
    };
    const operations = await tell(counts, [], true);
    assert.equal(counts.kills, 0);
    // First every operation of one process, then chains of processes that die.
    const single = Array.from(
      { length: operations * 2 },
      (_, n): Kill => ({ kind: SIDES[n % 2], at: 1 + (n >> 1) }),
    );
    const half = KILLS / 2;
    const stride = Math.max(1, single.length / half);
    for (let n = 0; n < single.length; n += stride) {
      const kill = single[Math.floor(n)];
      await tell(counts, [kill], n % 3 !== 0);
    }
    const random = numbers();
    const upTo = (most: number) => 1 + Math.floor(random.next().value * most);
    while (counts.kills < KILLS) {
      const kills = Array.from({ length: upTo(5) }, (_, n): Kill => ({
        kind: SIDES[upTo(2) - 1],
        at: upTo(n === 0 ? operations : 40),
      }));
      await tell(counts, kills, upTo(3) !== 1);
    }
    console.log(`${operations} operations`, JSON.stringify(counts));
    const { repeated, lost, unfinished, twice, slowestSeconds } = counts;
    assert.deepEqual(
      { repeated, lost, unfinished, twice },
      { repeated: 0, lost: 0, unfinished: 0, twice: 0 },
    );
    assert(slowestSeconds < TAKEOVER_SECONDS, `${slowestSeconds} s`);
  },
});

Deno.test({
  name:
    "a process that dies with many tasks at work leaves none of them waiting behind another",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    using kv = await Deno.openKv(":memory:");
    using time = new MovedTime();
    using _timers = new Timers();
    const goOn = tool({
      name: "go-on",
      task: { durable: true },
      run: (_input, { step }) =>
        step("a", () => first.isDead ? "done" : new Promise<string>(() => {}), {
          retries: 1,
        }),
    });
    const first: MortalServer = new MortalServer(kv, { tools: [goOn] });
    const taskIds = await Promise.all(
      Array.from({ length: 90 }, async () => {
        const call = first.call("tools/call", { name: "go-on" }, {
          capabilities,
        });
        return (await resultOf(call)).taskId as string;
      }),
    );
    first.kill();
    await using second = new MortalServer(kv, { tools: [goOn] });
    for (let seconds = 0; seconds < TAKEOVER_SECONDS; seconds++) {
      time.tick(1);
      await second.wake();
    }
    for (const taskId of taskIds) {
      const { value } = await kv.get<Json>(taskKey(taskId));
      assert.equal(value.status, "completed");
    }
  },
});
