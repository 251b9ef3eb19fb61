/**
 * Durable work on a platform whose isolates end a few seconds after their last
 * request, as on Deno Deploy: no timer lives longer, and nothing is said at the
 * end. A second of this platform takes a few milliseconds.
 */
import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import { taskKey } from "../../src/core/kv/keys.ts";
import { resultOf } from "../kit/answer.ts";
import { MovedTime } from "../kit/fake_time.ts";
import type { Json } from "../kit/message.ts";
import { MortalServer } from "../kit/mortal_server.ts";
import type { ServerOptions } from "../kit/server.ts";
import { HastyTimers, Timers } from "../kit/timers.ts";
import { settled, until } from "../kit/wait.ts";

const IDLE_SECONDS = 20;
const QUIET_MILLISECONDS = 200;
const HALF_AN_HOUR = 30 * 60;
const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A platform that starts an isolate for a request when there is none. */
class Platform implements AsyncDisposable {
  /** The seconds since the beginning. */
  seconds = 0;
  /** The isolates so far. */
  isolates = 0;
  #isolate?: MortalServer;
  #lastSeconds = 0;

  constructor(
    readonly kv: Deno.Kv,
    private readonly time: MovedTime,
    private readonly timers: Timers,
    private readonly options: ServerOptions,
  ) {}

  /** The runs of durable work in its isolate. */
  get running(): number {
    return this.#isolate?.running ?? 0;
  }

  /** Reaches an isolate with a request. */
  async reach<T>(request: (isolate: MortalServer) => Promise<T>): Promise<T> {
    if (!this.#isolate) {
      this.isolates++;
      this.#isolate = new MortalServer(this.kv, this.options);
    }
    this.#lastSeconds = this.seconds;
    return await request(this.#isolate);
  }

  /** Lets a second pass. */
  async tick(): Promise<void> {
    this.seconds++;
    this.time.tick(1);
    const isolate = this.#isolate;
    if (!isolate) return;
    if (this.seconds - this.#lastSeconds >= IDLE_SECONDS) {
      this.#isolate = undefined;
      // The intervals of a process die with it.
      this.timers.running.clear();
      return isolate.kill();
    }
    await this.timers.beat(1000);
    if (this.seconds % 5 === 0) await this.timers.beat(5000);
    // A step and a rest take no second.
    for (let n = 0; n < 1 || (isolate.running > 0 && n < 50); n++) {
      await settled();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#isolate?.[Symbol.asyncDispose]();
  }
}

/** Work of half an hour, in parts that rest in between. */
const report = tool({
  name: "report",
  task: { durable: true },
  async run(_input, { step, sleep }) {
    const parts: number[] = [];
    for (let n = 1; n <= 6; n++) {
      parts.push(await step(`part ${n}`, () => n, { retries: 3 }));
      await sleep(`rest ${n}`, HALF_AN_HOUR / 6);
    }
    return parts.join();
  },
});

/** Runs work on a platform, which has it done in about the time it needs. */
async function onPlatform(
  options: ServerOptions,
  name: string,
  each: (platform: Platform, taskId: string) => Promise<boolean | void>,
): Promise<Platform> {
  using kv = await Deno.openKv(":memory:");
  using time = new MovedTime();
  using timers = new Timers();
  using _hasty = new HastyTimers([QUIET_MILLISECONDS]);
  await using platform = new Platform(kv, time, timers, options);
  const { taskId } = await platform.reach((isolate) =>
    resultOf(isolate.call("tools/call", { name }, { capabilities }))
  );
  let isOver = false;
  while (!isOver) {
    assert(platform.seconds < HALF_AN_HOUR * 1.5, "it is not finished");
    await platform.tick();
    isOver = await each(platform, taskId) ?? false;
  }
  return platform;
}

/** Reads a task, and checks its result once it is there. */
async function isDone(
  platform: Platform,
  taskId: string,
  result: string,
): Promise<boolean> {
  const task = await platform.reach((isolate) =>
    resultOf(isolate.call("tasks/get", { taskId }, { capabilities }))
  );
  if (task.status === "working") return false;
  assert.equal(task.status, "completed", JSON.stringify(task));
  assert.equal(task.result.content[0].text, result);
  return true;
}

function testPlatform(name: string, fn: () => Promise<void>): void {
  // Operations of the dead hang for ever.
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });
}

testPlatform(
  "work of half an hour ends with a client that polls, and nothing else",
  async () => {
    const platform = await onPlatform(
      { tools: [report] },
      "report",
      async (platform, taskId) =>
        platform.seconds % 30 === 0 &&
        await isDone(platform, taskId, "1,2,3,4,5,6"),
    );
    assert(platform.isolates > 50, `${platform.isolates} isolates`);
    assert(platform.seconds <= HALF_AN_HOUR + 6 * 30, `${platform.seconds} s`);
  },
);

testPlatform(
  "work of half an hour ends with wake() each minute, and nothing else",
  async () => {
    const platform = await onPlatform(
      { tools: [report] },
      "report",
      async (platform, taskId) => {
        if (platform.seconds % 60 !== 0) return false;
        await platform.reach((isolate) => isolate.wake());
        return platform.seconds > HALF_AN_HOUR + 6 * 60 &&
          await isDone(platform, taskId, "1,2,3,4,5,6");
      },
    );
    assert(platform.isolates > 25, `${platform.isolates} isolates`);
  },
);

testPlatform(
  "work of half an hour ends with one webhook, and nothing else",
  async () => {
    let token = "";
    const pay = tool({
      name: "pay",
      task: { durable: true },
      async run(_input, { step, wait }) {
        const order = await step("order", () => "o1", { retries: 3 });
        const paid = await wait("paid", {
          message: "Waits for the payment",
          open: (opened) => void (token = opened),
          seconds: 7200,
        });
        return await step("ship", () => `${order} ${JSON.stringify(paid)}`, {
          retries: 3,
        });
      },
    });
    const platform = await onPlatform(
      {
        tools: [pay],
        routes(app, { answer }) {
          app.post("/paid/:token", async (c) => {
            const isTaken = await answer(c.req.param("token"), { euros: 5 });
            return c.body(null, isTaken ? 204 : 404);
          });
        },
      },
      "pay",
      async (platform, taskId) => {
        // A second here is too short for a slow machine.
        if (platform.seconds === 5) {
          await until(() => token !== "" && platform.running === 0);
        }
        if (platform.seconds === HALF_AN_HOUR) {
          const { status } = await platform.reach((isolate) =>
            isolate.fetch(`/paid/${token}`, { method: "POST" })
          );
          assert.equal(status, 204);
        }
        const read = async () =>
          (await platform.kv.get<Json>(taskKey(taskId))).value;
        if (platform.seconds === HALF_AN_HOUR + 5) {
          await until(async () => (await read()).status !== "working");
        }
        // Its isolate has ended by then: reading the task can only tell.
        if (platform.seconds !== HALF_AN_HOUR + IDLE_SECONDS + 1) return false;
        const task = await read();
        assert.equal(task.status, "completed", JSON.stringify(task));
        return await isDone(platform, taskId, 'o1 {"euros":5}');
      },
    );
    assert.equal(platform.isolates, 3);
  },
);
