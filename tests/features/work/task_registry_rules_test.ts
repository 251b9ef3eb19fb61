import assert from "node:assert/strict";
import {
  CallerBound,
  type LimitKey,
} from "../../../src/core/mcp/exchange/limits.ts";
import {
  stepFailureStore,
  stepStore,
} from "../../../src/features/work/steps.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { TaskRegistry } from "../../../src/features/work/task_registry.ts";
import type { TaskWork } from "../../../src/features/work/task_work.ts";
import { StorageError } from "../../../src/core/errors.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { silentLogger } from "../../kit/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import type { TaskMessages } from "../../../src/features/work/task_record.ts";
import type { TaskStore } from "../../../src/features/work/tasks.ts";
import { settled, until } from "../../kit/wait.ts";
import { Timers } from "../../kit/timers.ts";

type Request = Parameters<TaskRegistry["start"]>[0];

const ADA: LimitKey = { name: "ada", isMany: false };
const BOB: LimitKey = { name: "bob", isMany: false };
const OFFICE: LimitKey = { name: "office", isMany: true };

/** A registry of tasks, with a record of its store's calls. */
class Runner {
  /** The list of each new task. */
  readonly lists: (string | undefined)[] = [];
  readonly counted: unknown[] = [];
  readonly outcomes: string[] = [];
  readonly messages: TaskMessages["statusMessage"][] = [];
  readonly keys: string[] = [];
  answer = Promise.withResolvers<Record<string, never>>();
  hasMany = false;
  createFails = false;
  /** Until then a task is being created. */
  creating: Promise<void> = Promise.resolve();
  /** The ends that are to be kept, and whether each is. */
  readonly kept: { statusMessage?: string }[] = [];
  keep: () => Promise<boolean> = () => Promise.resolve(true);
  status = "working";
  holdsLease = true;
  isLive = true;
  /** The grant that used the task last, and the live ones. */
  user?: string;
  asked: unknown[] = [];
  readonly runner: TaskRegistry;

  constructor() {
    const tasks = {
      create: (
        taskId: string,
        _caller: unknown,
        { list }: { list: string },
      ) => {
        if (this.createFails) return Promise.reject(new Error("broken"));
        this.lists.push(list);
        return this.creating.then(() => ({ taskId }));
      },
      hasMany: (...counted: unknown[]) => {
        this.counted.push(counted);
        return Promise.resolve(this.hasMany);
      },
      renewLease: () => Promise.resolve(this.holdsLease),
      userOf: () => Promise.resolve(this.user),
      ended: (_taskId: string, signal: AbortSignal) => {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => reject(signal.reason));
        this.end = resolve;
        return promise;
      },
      end: (_taskId: string, kept: { statusMessage?: string }) => {
        this.kept.push(kept);
        return this.keep();
      },
      find: () => Promise.resolve({ status: this.status }),
      setMessages: (_taskId: string, { statusMessage }: TaskMessages) => {
        this.messages.push(statusMessage);
        return Promise.resolve();
      },
      ask: (
        _taskId: string,
        key: string,
        _question: unknown,
        { signal }: { signal: AbortSignal },
      ) => {
        this.keys.push(key);
        const { promise, reject } = Promise.withResolvers<never>();
        const fail = () => reject(signal.reason);
        if (signal.aborted) fail();
        signal.addEventListener("abort", fail);
        return Promise.race([this.answer.promise, promise]);
      },
    } as unknown as TaskStore;
    const database = new Database(memoryKv());
    this.runner = new TaskRegistry({
      database,
      tasks,
      steps: stepStore(database),
      failures: stepFailureStore(database, silentLogger),
      waits: waitStore(database),
      log: silentLogger,
      questions: new CallerBound(1, "questions at a time"),
      resume: () => assert.fail(),
      addresses: () => [],
    });
  }

  /** Ends the task, as its client. */
  end: () => void = () => {};

  async start(run: TaskWork["run"], limitKey: LimitKey | null = ADA) {
    const { task } = await this.runner.start(
      {
        caller: { subject: "ada", scopes: "all", binding: "ada's" },
        client: { capabilities: { roots: {} }, revision: "2026-07-28" },
        stateless: true,
        limitKey: limitKey ?? undefined,
        authenticated: {
          isLive: (grantId?: string) => {
            if (grantId === undefined) return Promise.resolve(this.isLive);
            this.asked.push(grantId);
            return Promise.resolve(true);
          },
        },
        endTask: (_taskId: string, outcome: string) =>
          this.outcomes.push(outcome),
      } as unknown as Request,
      { tool: "work", run },
    );
    return task;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runner.stop();
  }
}

const never = () => new Promise<never>(() => {});
const NOTHING = { content: [] };

Deno.test("a caller has a hundred tasks under way and no more, and others have theirs", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  const done = Promise.withResolvers<typeof NOTHING>();
  await runner.start(() => done.promise);
  for (let i = 1; i < 100; i++) await runner.start(never);
  const tooMany = { status: 429, message: /tasks at a time/ };
  await assert.rejects(runner.start(never), tooMany);
  await runner.start(never, BOB);
  done.resolve(NOTHING);
  await settled();
  runner.createFails = true;
  await assert.rejects(runner.start(never), /broken/);
  runner.createFails = false;
  await runner.start(never);
  await assert.rejects(runner.start(never), tooMany);
});

Deno.test("the tasks of those whom nothing tells apart are not counted", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  runner.hasMany = true;
  const { taskId } = await runner.start(never, null);
  assert.ok(taskId);
});

Deno.test("tasks of what many people share are spread over ten lists", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  for (let i = 0; i < 300; i++) await runner.start(never, OFFICE);
  assert.deepEqual(
    [...new Set(runner.lists)].sort(),
    Array.from({ length: 10 }, (_, n) => `office ${n}`),
  );
});

Deno.test("a task says for as long as it works that its process lives, and ends when it may not", async () => {
  using timers = new Timers();
  await using runner = new Runner();
  await runner.start(never);
  await timers.beat(5000);
  assert.deepEqual(runner.outcomes, []);
  runner.holdsLease = false;
  await timers.beat(5000);
  assert.deepEqual(runner.outcomes, ["stopped"]);
  assert.equal(timers.running.size, 0);
});

Deno.test("a task goes on with its own grant, and with no other that no one used", async () => {
  using timers = new Timers();
  await using runner = new Runner();
  await runner.start(never);
  await timers.beat(1000);
  assert.deepEqual([runner.outcomes, runner.asked], [[], []]);
  runner.isLive = false;
  runner.user = "second";
  await timers.beat(1000);
  assert.deepEqual([runner.outcomes, runner.asked], [[], ["second"]]);
  runner.user = undefined;
  await timers.beat(1000);
  assert.deepEqual(runner.outcomes, ["stopped"]);
});

Deno.test("a task that was stopped is not cancelled too", async () => {
  using _timers = new Timers();
  const runner = new Runner();
  await runner.start(never);
  const stopping = runner.runner.stop();
  runner.end();
  await stopping;
  assert.deepEqual(runner.outcomes, ["stopped"]);
});

Deno.test("a task whose tool says that it failed has ended so", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  for (const isError of [true, false, undefined]) {
    await runner.start(() => Promise.resolve({ content: [], isError }));
    await settled();
  }
  assert.deepEqual(runner.outcomes, ["tool_error", "ok", "ok"]);
});

Deno.test("a task's message changes once a second at most", async () => {
  using _timers = new Timers();
  using time = new FakeTime();
  await using runner = new Runner();
  await runner.start(async ({ progress }) => {
    await progress(1, 9, "first");
    time.tick(0.999);
    await progress(2, 9, "too soon");
    time.tick(0.001);
    await progress(3, 9, "second");
    await progress(9, 9);
    return NOTHING;
  });
  await settled();
  assert.deepEqual(runner.messages, ["1 of 9: first", "3 of 9: second"]);
  // The last one is kept with the end.
  assert.deepEqual(runner.kept.map(({ statusMessage }) => statusMessage), [
    "9 of 9",
  ]);
});

Deno.test("a task is told as ended when its end is kept, and not before", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  const kept = Promise.withResolvers<boolean>();
  runner.keep = () => kept.promise;
  await runner.start(() => Promise.resolve(NOTHING));
  await settled();
  assert.deepEqual([runner.kept.length, runner.outcomes], [1, []]);
  kept.resolve(true);
  await settled();
  assert.deepEqual(runner.outcomes, ["ok"]);
});

Deno.test("a task that its client ended first is told as cancelled", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  runner.keep = () => Promise.resolve(false);
  for (const status of ["cancelled", "completed"]) {
    runner.status = status;
    await runner.start(() => Promise.resolve(NOTHING));
    await settled();
  }
  // The second end was kept by a commit whose answer got lost.
  assert.deepEqual(runner.outcomes, ["cancelled", "ok"]);
});

Deno.test("stop() ends a task that is being created too, whose tool never begins", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  const created = Promise.withResolvers<void>();
  runner.creating = created.promise;
  let hasBegun = false;
  const starting = runner.start(() => {
    hasBegun = true;
    return Promise.resolve(NOTHING);
  });
  await settled();
  const stopping = runner.runner.stop();
  created.resolve();
  assert.ok((await starting).taskId);
  await stopping;
  assert.deepEqual([runner.outcomes, runner.runner.size], [["stopped"], 0]);
  assert.equal(hasBegun, false);
});

Deno.test("stop() gives no other end to a task whose end the database refuses", async () => {
  using _timers = new Timers();
  const runner = new Runner();
  runner.keep = () => {
    runner.keep = () => Promise.resolve(true);
    return Promise.reject(new StorageError());
  };
  await runner.start(never);
  await runner.runner.stop();
  // Its lease lapses, or it was stored all the same.
  assert.deepEqual(runner.outcomes, ["stopped"]);
});

Deno.test("the signal of a task that ends by itself does not fire", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  let signal: AbortSignal | undefined;
  await runner.start((context) => {
    signal = context.signal;
    return Promise.resolve(NOTHING);
  });
  await settled();
  assert.deepEqual([runner.outcomes, signal?.aborted], [["ok"], false]);
});

Deno.test("refuse() ends tasks that wait for a person, now or later, and lets others work", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  const go = Promise.withResolvers<void>();
  const caught: unknown[] = [];
  const ask: TaskWork["run"] = async ({ roots }) => {
    await roots().catch((error) => caught.push(error));
    return NOTHING;
  };
  await runner.start(ask);
  await runner.start(() => go.promise.then(() => NOTHING));
  await runner.start((context) => go.promise.then(() => ask(context)));
  await settled();
  runner.runner.refuse();
  await settled();
  assert.deepEqual([runner.outcomes, runner.runner.size], [["stopped"], 2]);
  go.resolve();
  await settled();
  assert.deepEqual(runner.outcomes.toSorted(), ["ok", "stopped", "stopped"]);
  assert.deepEqual([caught, runner.runner.size], [[], 0]);
});

Deno.test("a question of a task that is one too many interrupts its run", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  const caught: unknown[] = [];
  await runner.start(async ({ roots }) => {
    roots();
    await roots().catch((error) => caught.push(error));
    return NOTHING;
  });
  await until(() => runner.outcomes.length > 0);
  assert.deepEqual([caught, runner.outcomes], [[], ["refused"]]);
});

Deno.test("no two questions of one task have one key", async () => {
  using _timers = new Timers();
  await using runner = new Runner();
  await runner.start(async ({ roots }) => {
    runner.answer.resolve({ roots: [] } as never);
    await roots();
    await roots();
    return NOTHING;
  });
  await settled();
  assert.deepEqual(runner.keys, ["roots", "roots-1"]);
  assert.deepEqual(runner.outcomes, ["ok"]);
});
