import assert from "node:assert/strict";
import { ToolError } from "../../../src/authoring/tool.ts";
import { AuthorCode } from "../../../src/core/mcp/exchange/author_code.ts";
import { StorageError } from "../../../src/core/errors.ts";
import {
  durableRun,
  Expelled,
  MAX_CHARACTERS,
  MAX_STEPS,
} from "../../../src/features/work/journal.ts";
import { DurableSteps } from "../../../src/features/work/durable_steps.ts";
import { Parked, Parking } from "../../../src/features/work/parking.ts";
import {
  DivergenceError,
  type Step,
} from "../../../src/features/work/steps.ts";
import { AskedQuestion } from "../../../src/core/protocol/question.ts";
import type { Claim } from "../../../src/features/work/run_record.ts";
import { SteadyTime } from "../../kit/fake_time.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { settled, until } from "../../kit/wait.ts";

/** So long a run that only waits stays in its process. */
const QUIET_MILLISECONDS = 200;

/** The longest timer there is. */
const MAX_TIMER_MILLISECONDS = 2 ** 31 - 1;

/** Gives timers that begin from now on another length. */
function timersOf(length: (milliseconds: number) => number): Disposable {
  const { setTimeout } = globalThis;
  globalThis.setTimeout =
    ((act: () => void, milliseconds: number) =>
      setTimeout(act, length(milliseconds))) as typeof setTimeout;
  return {
    [Symbol.dispose]() {
      globalThis.setTimeout = setTimeout;
    },
  };
}

/** A question to a person that asks for nothing but its text. */
function asking(message: string, key: string): AskedQuestion {
  return new AskedQuestion("elicitation/create", { message }, key);
}

/** The steps of a run, and its parking. */
class TestedSteps extends DurableSteps {
  constructor(
    readonly parking: Parking,
    ...args: ConstructorParameters<typeof DurableSteps>
  ) {
    super(...args);
  }
}

/** A task whose runs keep their steps in memory. */
class Task {
  readonly steps = new Map<string, Step>();
  readonly states: string[] = [];
  readonly parked: unknown[] = [];
  now = 1_000_000;
  isAllowed = true;
  isLost = false;
  renewals = 0;
  /** The times that the database refuses to leave a run to others. */
  refusals = 0;
  onPark = () => {};
  onSave = () => {};
  onRenew = () => {};
  onLook = () => {};
  parking: "parked" | "answered" | "lost" = "parked";

  /** Runs code until it ends, or is cut. */
  run<T>(
    code: (run: TestedSteps) => T | Promise<T>,
    { version = 1, deaths = 0, stop = new AbortController() } = {},
  ): Promise<T> {
    const { signal } = stop;
    const { promise, reject } = Promise.withResolvers<never>();
    const interrupt = (reason: unknown) => {
      reject(reason);
      return new Promise<never>(() => {});
    };
    const now = () => this.now;
    const parking = new Parking({
      signal,
      startedAt: this.now,
      now,
      interrupt,
      stop: () => assert.fail("Durable work is parked"),
      park: ({ dueSeconds, questions, waitsFor }) => {
        this.parked.push([dueSeconds, questions, waitsFor]);
        this.onPark();
        if (this.refusals-- > 0) return Promise.reject(new StorageError());
        return Promise.resolve(this.parking);
      },
    });
    const claim = {
      taskId: "t",
      run: { deaths },
      expiresAt: this.now + 1000 * 3600,
      renewedMilliseconds: performance.now(),
    } as Claim;
    const own = durableRun({
      code: () => new AuthorCode(() => {}),
      parking,
      signal,
      now,
      interrupt,
      claim,
      renew: () => {
        this.renewals++;
        if (!this.isLost) claim.renewedMilliseconds = performance.now();
        this.onRenew();
        return Promise.resolve(!this.isLost);
      },
      store: (step) => {
        if (this.isLost) return Promise.resolve(false);
        this.states.push(`${step.id} ${step.state}`);
        this.onSave();
        this.steps.set(step.id, structuredClone(step));
        return Promise.resolve(true);
      },
      isAllowed: () => {
        this.onLook();
        return Promise.resolve(this.isAllowed);
      },
    });
    const steps = [...this.steps.values()].sort((a, b) => a.number - b.number);
    const run = new TestedSteps(parking, own, steps, version);
    const ending = (async () => {
      const result = await code(run);
      run.end();
      return result;
    })();
    return Promise.race([ending, promise]).finally(() => {
      run.parking.end();
      stop.abort();
    });
  }
}

Deno.test("step() keeps a result, and gives it in the next run without doing it again", async () => {
  const task = new Task();
  let done = 0;
  const code = (run: TestedSteps) =>
    run.step("a", () => ({ n: ++done, at: new Date(0), no: undefined }));
  const first = await task.run(code);
  assert.deepEqual(first, { n: 1, at: "1970-01-01T00:00:00.000Z" });
  assert.deepEqual(await task.run(code), first);
  assert.deepEqual(task.states, ["step:a begun", "step:a kept"]);
});

Deno.test("step() that may be repeated is one commit", async () => {
  const task = new Task();
  assert.equal(
    await task.run((run) => run.step("a", () => undefined, { retries: 1 })),
    undefined,
  );
  assert.deepEqual(task.states, ["step:a kept"]);
});

Deno.test("a step has the time of its beginning, also where its end is its only commit", async () => {
  for (const retries of [0, 1]) {
    const task = new Task();
    const begun = task.now;
    await task.run((run) =>
      run.step("a", () => void (task.now += 8), { retries })
    );
    const { startedAt, endedAt } = task.steps.get("step:a")!;
    assert.deepEqual([startedAt, endedAt], [begun, begun + 8]);
  }
});

Deno.test("step() throws again what it has thrown, and may be caught", async () => {
  const task = new Task();
  const code = (run: TestedSteps) =>
    run.step("a", () => {
      throw new ToolError("no");
    }).catch((error) => [error instanceof ToolError, error.message]);
  assert.deepEqual(await task.run(code), [true, "no"]);
  assert.deepEqual(await task.run(code), [true, "no"]);
  assert.deepEqual(task.states, ["step:a begun", "step:a failed"]);
});

Deno.test("step() is repeated as often as it may be, after growing pauses", async () => {
  const task = new Task();
  const attempts: number[] = [];
  const code = (run: TestedSteps) =>
    run.step("a", ({ attempt }) => {
      attempts.push(attempt);
      throw new Error("away");
    }, { retries: 3 });
  for (const pause of [1, 2, 4]) {
    const before = task.now;
    const stop = new AbortController();
    void task.run(code, { stop });
    await until(() => task.steps.get("step:a")?.until === before + pause);
    await settled();
    stop.abort();
    task.now += pause;
  }
  await assert.rejects(task.run(code), /^Error: away$/);
  assert.deepEqual(attempts, [1, 2, 3, 4]);
  assert.equal(task.steps.get("step:a")?.state, "failed");
});

Deno.test("step() that may have happened is not done again", async () => {
  const task = new Task();
  void task.run((run) => run.step("pay", () => new Promise(() => {})));
  await until(() => task.steps.get("step:pay")?.state === "begun");
  for (const deaths of [0, 1]) {
    await assert.rejects(
      task.run((run) => run.step("pay", () => assert.fail()), { deaths }),
      /^RpcError: The step "pay" may have happened/,
    );
  }
});

Deno.test("step() that has read `once` is done again with the same", async () => {
  const task = new Task();
  const seen: string[] = [];
  const code = (end: Promise<void>) => (run: TestedSteps) =>
    run.step("pay", async ({ once }) => {
      seen.push(once);
      await end;
    });
  void task.run(code(new Promise(() => {})));
  await until(() => task.steps.get("step:pay")?.usesOnce === true);
  await task.run(code(Promise.resolve()), { deaths: 1 });
  assert.equal(seen.length, 2);
  assert.equal(seen[0], seen[1]);
  assert.equal(task.steps.get("step:pay")?.state, "kept");
  const other = new Task();
  await other.run((run) =>
    run.step("other", ({ once }) => assert.notEqual(once, seen[0]))
  );
});

Deno.test("repeatableStep() is one commit, and done again wherever its process has died in it", async () => {
  const task = new Task();
  let begun = 0;
  const code = (end: Promise<void>) => (run: TestedSteps) =>
    run.repeatableStep("wait", async () => {
      begun++;
      await end;
    });
  void task.run(code(new Promise(() => {})));
  await until(() => begun === 1);
  assert.deepEqual(task.states, []);
  await task.run(code(Promise.resolve()), { deaths: 1 });
  assert.equal(begun, 2);
  // A process has died, here or elsewhere: another death would tell.
  assert.deepEqual(task.states, ["step:wait begun", "step:wait kept"]);
  // A version before has noted its beginning.
  const noted = new Task();
  const { number, isAlone, version, startedAt } = task.steps.get("step:wait")!;
  const known: Step = {
    id: "step:wait",
    number,
    isAlone,
    version,
    startedAt,
    state: "begun",
  };
  noted.steps.set(known.id, known);
  await noted.run(code(Promise.resolve()));
  assert.deepEqual(noted.states, ["step:wait kept"]);
});

Deno.test("step() in which process after process dies is given up", async () => {
  const task = new Task();
  const attempts: number[] = [];
  const code = (run: TestedSteps) =>
    run.step("a", async ({ attempt }) => {
      attempts.push(attempt);
      await new Promise(() => {});
    }, { retries: 2 });
  // No one knows where the first process died.
  for (const deaths of [0, 1, 2, 3]) {
    void task.run(code, { deaths });
    await until(() => attempts.length === deaths + 1);
  }
  assert.deepEqual(attempts, [1, 1, 2, 3]);
  await assert.rejects(
    task.run(code, { deaths: 4 }),
    /was tried 3 times, and its process died in it/,
  );
});

Deno.test("step() refuses what cannot be kept, by its name, once", async () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  for (
    const [value, because] of [
      [() => 1, /step "a" cannot be kept: it is a function/],
      [{ b: { c: () => 1 } }, /its member c is a function/],
      [{ m: new Map() }, /its member m is a Map/],
      [cycle, /it is no JSON/],
      [1n, /it is no JSON/],
      ["x".repeat(MAX_CHARACTERS), /at most 4194304 characters together/],
    ] as const
  ) {
    let done = 0;
    const code = (run: TestedSteps) =>
      run.step("a", () => (done++, value), { retries: 3 });
    await assert.rejects(new Task().run(code), because);
    assert.equal(done, 1);
  }
});

Deno.test("step() bounds the results of all runs together", async () => {
  const task = new Task();
  const half = "x".repeat(MAX_CHARACTERS / 2 - 2);
  const code = (run: TestedSteps) => run.step("a", () => half);
  await task.run(code);
  await assert.rejects(
    task.run(async (run) => {
      await code(run);
      await run.step("b", () => half);
      await run.step("c", () => 1);
    }),
    /step "c" cannot be kept/,
  );
});

Deno.test("step() refuses an ID that is there twice, and names both places", async () => {
  const code = async (run: TestedSteps) => {
    await run.step("a", () => 1);
    await run.step("a", () => 2).catch(() => assert.fail());
  };
  await assert.rejects(
    new Task().run(code),
    /step "a" is there twice at .*durable_steps_test.* and at .*durable_steps_test/,
  );
});

Deno.test("step() refuses what is no ID", async () => {
  for (const id of ["", "x".repeat(201), 1 as never]) {
    await assert.rejects(
      new Task().run((run) => run.step(id, () => 1)),
      /1 to 200 characters/,
    );
  }
});

Deno.test("step() refuses one too many", async () => {
  await assert.rejects(
    new Task().run(async (run) => {
      for (let n = 0; n <= MAX_STEPS; n++) {
        await run.step(`${n}`, () => n, { retries: 1 });
      }
    }),
    /step "1000" is one too many: a task has at most 1000/,
  );
});

Deno.test("a run whose step is not awaited fails, and names it", async () => {
  await assert.rejects(
    new Task().run((run) => {
      run.step("late", () => new Promise(() => {}));
    }),
    /step "late" was not awaited at .*durable_steps_test/,
  );
});

const abc = async (run: TestedSteps, ...ids: string[]) => {
  for (const id of ids) await run.step(id, () => id, { retries: 1 });
};

for (
  const [what, ids, words] of [
    [
      "another",
      ["a", "x", "c"],
      /number 2 was the step "b", and the step "x" is number 2/,
    ],
    ["one more", ["a", "x", "b", "c"], /2 was the step "b", and the step "x"/],
    ["one less", ["a", "c"], /2 was the step "b", and .* "c" is number 2/],
    ["another order", ["b", "a", "c"], /1 was the step "a", and the step "b"/],
    ["one less at end", ["a", "b"], /"c", which was number 3, is not there/],
  ] as const
) {
  Deno.test(`a run with ${what} than before diverges, before it does anything`, async () => {
    const task = new Task();
    await task.run((run) => abc(run, "a", "b", "c"));
    const { length } = task.states;
    await assert.rejects(task.run((run) => abc(run, ...ids)), (error) => {
      assert(error instanceof DivergenceError);
      assert.match(error.message, words);
      return true;
    });
    assert.equal(task.states.length, length);
  });
}

Deno.test("a run of another version goes on by the IDs alone, and then has an order of its own", async () => {
  const task = new Task();
  await task.run((run) => abc(run, "a", "b", "c"));
  const { length } = task.states;
  const version = { version: 2 };
  await task.run((run) => abc(run, "x", "c", "a", "y"), version);
  assert.deepEqual(task.states.slice(length), ["step:x kept", "step:y kept"]);
  await task.run((run) => abc(run, "x", "c", "a", "y", "z"), version);
  await assert.rejects(
    task.run((run) => abc(run, "y", "x"), version),
    DivergenceError,
  );
});

Deno.test("steps side by side may end in any order, and be asked for in any", async () => {
  const task = new Task();
  const code = (slow: string) => async (run: TestedSteps) => {
    const branch = async (name: string) => {
      await run.step(`${name}1`, async () => {
        if (name === slow) { for (let n = 0; n < 5; n++) await settled(); }
      }, { retries: 1 });
      await run.step(`${name}2`, () => {}, { retries: 1 });
    };
    await Promise.all([branch("a"), branch("b")]);
  };
  await task.run(code("a"));
  assert.equal(task.steps.get("step:b2")?.number, 3);
  const { length } = task.states;
  await task.run(code("none"));
  assert.equal(task.states.length, length);
});

Deno.test("a step side by side with one that was lost is done as before", async () => {
  const task = new Task();
  const code = (run: TestedSteps) =>
    Promise.all(
      ["a", "b", "c"].map((id) => run.step(id, () => id, { retries: 1 })),
    );
  await task.run(code);
  task.steps.delete("step:b");
  task.states.length = 0;
  assert.deepEqual(await task.run(code), ["a", "b", "c"]);
  assert.deepEqual(task.states, ["step:b kept"]);
});

Deno.test("step() stops a run whose permission has ended, before it does anything", async () => {
  const task = new Task();
  await assert.rejects(
    task.run(async (run) => {
      await run.step("a", () => 1);
      task.isAllowed = false;
      await run.step("b", () => assert.fail());
    }),
    Expelled,
  );
});

Deno.test("step() renews a claim that another process could have taken, before it does anything, and no other", async () => {
  using time = new SteadyTime();
  const task = new Task();
  await task.run(async (run) => {
    await run.step("a", () => 1);
    time.tick(9);
    await run.step("b", () => 1);
    assert.equal(task.renewals, 0);
    time.tick(1);
    await run.step("c", () => 1);
    assert.equal(task.renewals, 1);
  });
  const lost = new Task();
  let isDone = false;
  await assert.rejects(
    lost.run(async (run) => {
      lost.isLost = true;
      time.tick(10);
      await run.step("d", () => void (isDone = true), { retries: 1 });
    }),
    Parked,
  );
  assert(!isDone);
  // It stands still again before it is told that the claim is renewed.
  const again = new Task();
  again.onRenew = () => {
    if (again.renewals === 1) time.tick(10);
  };
  await again.run(async (run) => {
    time.tick(10);
    await run.step("e", () => 1, { retries: 1 });
  });
  assert.equal(again.renewals, 2);
});

Deno.test("step() does nothing in a process that stood still once the step was noted", async () => {
  using time = new SteadyTime();
  const task = new Task();
  task.onSave = () => {
    task.isLost = true;
    time.tick(10);
  };
  let isPaid = false;
  const pay = task.run((run) => run.step("pay", () => void (isPaid = true)));
  await assert.rejects(pay, Parked);
  assert(!isPaid);
  assert.deepEqual(task.states, ["step:pay begun"]);
});

Deno.test("step() drops the result of a process that has lost its turn", async () => {
  const task = new Task();
  await assert.rejects(
    task.run(async (run) => {
      await run.step("a", () => {
        task.isLost = true;
      }, { retries: 1 });
      assert.fail();
    }),
    Parked,
  );
  assert.equal(task.steps.size, 0);
});

Deno.test("step() keeps a result although the database is away for a while", async () => {
  const task = new Task();
  let isAway = true;
  const code = (run: TestedSteps) => run.step("a", () => 1, { retries: 1 });
  const { isAllowed } = task;
  assert(isAllowed);
  const run = task.run(async (run) => {
    const { set } = task.steps;
    task.steps.set = (...step) => {
      if (!isAway) return set.apply(task.steps, step);
      isAway = false;
      throw new StorageError();
    };
    return await code(run);
  });
  assert.equal(await run, 1);
});

Deno.test("sleep() leaves the process, and is over in the run after its time", async () => {
  const task = new Task();
  const code = async (run: TestedSteps) => {
    await run.sleep("cool down", 3600);
    return "woken";
  };
  await assert.rejects(task.run(code), Parked);
  const end = task.now + 3600;
  assert.deepEqual(task.parked, [[end, [], undefined]]);
  task.now += 1800;
  await assert.rejects(task.run(code), Parked);
  assert.deepEqual(task.parked[1], [end, [], undefined]);
  task.now += 1800;
  assert.equal(await task.run(code), "woken");
});

Deno.test("a run that leaves its process tells of its latest wait", async () => {
  const task = new Task();
  const limit = task.now + 900;
  const code = async (run: TestedSteps) => {
    void run.sleep("day", 86400);
    const end = new Date(limit * 1000);
    await Promise.all(
      ["one", "other"].map((waitsFor) =>
        run.sleep(waitsFor, end, { waitsFor })
      ),
    );
  };
  await assert.rejects(task.run(code), Parked);
  assert.deepEqual(task.parked, [[limit, [], "other"]]);
});

Deno.test("sleep() until a time that is over does not wait", async () => {
  const task = new Task();
  await task.run(async (run) => {
    await run.sleep("a", new Date(0));
    await run.sleep("b", 0);
  });
  assert.deepEqual(task.parked, []);
});

Deno.test("sleep() refuses what is no time, or later than its task", async () => {
  for (const until of [NaN, Infinity, 91 * 86400, new Date(NaN)]) {
    await assert.rejects(
      new Task().run((run) => run.sleep("a", until)),
      /sleep "a" must be a number of seconds or a Date/,
    );
  }
});

for (const first of ["sleep", "step"]) {
  Deno.test(`a run stays in its process while a step is at work, with a ${first} before the other`, async () => {
    using _hasty = new HastyTimers([QUIET_MILLISECONDS]);
    const task = new Task();
    const { promise, resolve } = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const run = task.run((run) => {
      const step = () =>
        run.step("b", () => {
          begun.resolve();
          return promise;
        });
      if (first === "step") {
        return Promise.all([
          step(),
          begun.promise.then(() => run.sleep("a", 3600)),
        ]);
      }
      const sleeps = ["a", "c"].map((id) => run.sleep(id, 3600));
      return Promise.all([...sleeps, step()]);
    });
    await until(() => task.steps.has("sleep:a") && task.steps.has("step:b"));
    for (let n = 0; n < 5; n++) await settled();
    assert.deepEqual(task.parked, []);
    resolve();
    await assert.rejects(run, Parked);
    assert.equal(task.parked.length, 1);
  });
}

Deno.test("a run stays in its process while its code is between two steps", async () => {
  using _hasty = new HastyTimers([QUIET_MILLISECONDS]);
  const task = new Task();
  const result = await task.run(async (run) => {
    await run.step("a", () => 1);
    for (let n = 0; n < 5; n++) await settled();
    return "end";
  });
  assert.deepEqual([result, task.parked], ["end", []]);
});

Deno.test("a run leaves its process when the shorter of two sleeps is over", async () => {
  const task = new Task();
  const begun = Promise.withResolvers<TestedSteps>();
  const ending = task.run((run) => {
    begun.resolve(run);
    return Promise.all([run.sleep("long", 3600), run.sleep("short", 3)]);
  });
  const { parking } = await begun.promise;
  await until(() => parking.until !== undefined);
  task.now += 3;
  parking.recheck();
  await assert.rejects(ending, Parked);
  const { now } = task;
  assert.deepEqual(task.parked, [[now + 3597, [], undefined]]);
});

Deno.test("a run that has ended is not left to others for a sleep that it began", async () => {
  using _hasty = new HastyTimers([QUIET_MILLISECONDS]);
  const task = new Task();
  const result = await task.run(async (run) => {
    void run.sleep("limit", 3600);
    // All that follows at once happens, and no timer fires.
    for (let n = 0; n < 100; n++) await Promise.resolve();
    assert(task.steps.has("sleep:limit"));
    run.parking.end();
    for (let n = 0; n < 5; n++) await settled();
    return "end";
  });
  assert.deepEqual([result, task.parked], ["end", []]);
});

Deno.test("sleep() of weeks asks for no timer that is too long while a step is at work", async () => {
  const lengths: number[] = [];
  using _timers = timersOf((milliseconds) => {
    lengths.push(milliseconds);
    return milliseconds;
  });
  await new Task().run(async (run) => {
    void run.sleep("weeks", 30 * 24 * 3600);
    await run.step("a", settled);
  });
  // A longer one fires at once.
  const isFine = (length: number) => length <= MAX_TIMER_MILLISECONDS;
  assert(lengths.length > 0 && lengths.every(isFine), `${lengths}`);
});

Deno.test("sleep() whose end is known to have come early does not wait", async () => {
  const task = new Task();
  await task.run((run) =>
    run.sleep("a", 3600, { enough: AbortSignal.abort() })
  );
  assert.deepEqual(task.parked, []);
});

Deno.test("question() leaves the process, asks again by the same key, and keeps the answer", async () => {
  const task = new Task();
  const asked: string[] = [];
  const given: string[] = [];
  const code = (run: TestedSteps) =>
    run.question(asking("Who?", "who"), async (_key, keep) => {
      const [answer] = given;
      asked.push("who");
      if (answer === undefined) return await new Promise(() => {});
      await keep(answer);
    });
  await assert.rejects(task.run(code), Parked);
  assert.deepEqual(task.parked, [[undefined, ["who"], undefined]]);
  given.push('{"action":"accept"}');
  assert.deepEqual(await task.run(code), { action: "accept" });
  assert.deepEqual(await task.run(code), { action: "accept" });
  assert.deepEqual(asked, ["who", "who"]);
});

const EMPTY: Readonly<Record<string, string>> = {};

/** Asks a question that is answered by its key, or never. */
function answeredBy(answers: Readonly<Record<string, string>>) {
  return async (key: string, keep: (answer: string) => Promise<void>) => {
    if (!Object.hasOwn(answers, key)) return await new Promise(() => {});
    await keep(JSON.stringify(answers[key]));
  };
}

Deno.test("question() of one key in two branches gives each its own answer, in whichever order they come", async () => {
  const task = new Task();
  const code =
    (first: string, second: string, answers = {}) => async (run: TestedSteps) =>
      Object.fromEntries(
        await Promise.all([first, second].map(async (text) => [
          text,
          await run.question(asking(text, "sure"), answeredBy(answers)),
        ])),
      );
  await assert.rejects(task.run(code("A?", "B?")), Parked);
  assert.deepEqual(task.parked.at(-1), [
    undefined,
    ["sure", "sure-1"],
    undefined,
  ]);
  const answers = { sure: "to A", "sure-1": "to B" };
  const given = { "A?": "to A", "B?": "to B" };
  assert.deepEqual(await task.run(code("B?", "A?", answers)), given);
  assert.deepEqual(await task.run(code("B?", "A?")), given);
});

Deno.test("question() that asks something else than before ends the work with both texts, and gives no answer", async () => {
  for (const hasAnswer of [true, false]) {
    const task = new Task();
    const code = (text: string) => async (run: TestedSteps) => {
      const ask = answeredBy(hasAnswer ? { buy: "yes" } : EMPTY);
      const answer = await run.question(asking(text, "buy"), ask);
      await run.step("pay", () => assert.equal(text, "Buy for 10?"));
      return answer;
    };
    await task.run(code("Buy for 10?")).catch((error) => {
      assert(error instanceof Parked);
    });
    await assert.rejects(
      task.run(code("Buy for 1000?")),
      (error) =>
        error instanceof DivergenceError &&
        /was the question "buy" \("Buy for 10\?"\), and the question "buy" \("Buy for 1000\?"\) is/
          .test(error.message),
    );
  }
});

Deno.test("question() that asks something else under another version is asked, by a key of its own", async () => {
  const task = new Task();
  const code =
    (text: string, answers: Record<string, string>) => (run: TestedSteps) =>
      run.question(asking(text, "buy"), answeredBy(answers));
  assert.equal(await task.run(code("10?", { buy: "yes" })), "yes");
  const later = code("1000?", { buy: "yes", "buy-1": "no" });
  assert.equal(await task.run(later, { version: 2 }), "no");
});

Deno.test("question() that is asked again in a loop is another one each time", async () => {
  const task = new Task();
  const code =
    (answers: Record<string, string>) => async (run: TestedSteps) => {
      const given: unknown[] = [];
      for (let n = 0; n < 3; n++) {
        given.push(
          await run.question(asking("More?", "more"), answeredBy(answers)),
        );
      }
      return given;
    };
  await assert.rejects(task.run(code({ more: "1", "more-1": "2" })), Parked);
  const answers = { more: "no", "more-1": "no", "more-2": "3" };
  assert.deepEqual(await task.run(code(answers)), ["1", "2", "3"]);
});

Deno.test("question() that is open twice with the same key and text ends the work", async () => {
  const ask = () => new Promise(() => {});
  await assert.rejects(
    new Task().run((run) =>
      Promise.all([1, 2].map(() => run.question(asking("Sure?", "sure"), ask)))
    ),
    /question "sure" \("Sure\?"\) is open twice.*give each a key of its own/s,
  );
  // Of the client itself any answer is as good as the other.
  const sampled = new AskedQuestion("sampling/createMessage", {
    message: "Think",
  });
  const answers = answeredBy({ sampling: "a", "sampling-1": "b" });
  assert.deepEqual(
    await new Task().run((run) =>
      Promise.all(
        [1, 2].map(() => run.question(sampled, answers)),
      )
    ),
    ["a", "b"],
  );
});

Deno.test("question() on a page parks its run no sooner than it waits for the page", async () => {
  using _hasty = new HastyTimers([QUIET_MILLISECONDS]);
  const task = new Task();
  const opened = Promise.withResolvers<void>();
  const run = task.run((run) =>
    run.question(asking("Done?", "page"), async () => {
      await run.parking.activity(async () => {
        for (let n = 0; n < 5; n++) await settled();
        assert.deepEqual(task.parked, []);
        opened.resolve();
      });
      return await run.parking.wait({}, () => new Promise(() => {}));
    }, { isOnPage: true })
  );
  await opened.promise;
  await assert.rejects(run, Parked);
  assert.deepEqual(task.parked, [[undefined, [], undefined]]);
});

Deno.test("a run whose question was slow to open leaves its process all the same", async () => {
  const task = new Task();
  task.parking = "answered";
  const run = task.run((run) =>
    run.question(asking("Who?", "who"), () => new Promise(() => {}))
  );
  await until(() => task.parked.length === 2);
  task.parking = "parked";
  await assert.rejects(run, Parked);
});

Deno.test("release() leaves between two steps, and keeps the one at work", async () => {
  const task = new Task();
  await assert.rejects(
    task.run(async (run) => {
      await run.step("a", () => run.parking.release());
      await run.step("b", () => assert.fail());
    }),
    Parked,
  );
  assert.deepEqual(task.states, ["step:a begun", "step:a kept"]);
  assert.deepEqual(task.parked, [[task.now, [], undefined]]);
});

Deno.test("a step does not begin when its run is released, or ended, while it is asked if it may", async () => {
  const task = new Task();
  // The database is away when the run is to leave.
  task.refusals = 1;
  await assert.rejects(
    task.run(async (run) => {
      task.onLook = () => run.parking.release();
      await run.step("a", () => assert.fail(), { retries: 1 });
    }),
    Parked,
  );
  assert.deepEqual(task.states, []);

  const ended = new Task();
  const stop = new AbortController();
  ended.onLook = () => stop.abort();
  let isBegun = false;
  const run = ended.run(async (run) => {
    void run.step("a", () => void (isBegun = true), { retries: 1 });
    await settled();
    throw new Error("over");
  }, { stop });
  await assert.rejects(run, { message: "over" });
  assert(!isBegun);
});

Deno.test("release() leaves a short sleep at once", async () => {
  const task = new Task();
  const run = task.run(async (run) => {
    const sleeping = run.sleep("nap", 3);
    await until(() => run.parking.until !== undefined);
    run.parking.release();
    await sleeping;
  });
  await assert.rejects(run, Parked);
  assert.deepEqual(task.parked, [[task.now, [], undefined]]);
});

Deno.test("release() lets code between two steps go on, up to the next", async () => {
  const task = new Task();
  let isOn = false;
  await assert.rejects(
    task.run(async (run) => {
      run.parking.release();
      await settled();
      isOn = true;
      await run.step("a", () => assert.fail());
    }),
    Parked,
  );
  assert(isOn);
});

Deno.test("isReplay is true until every step of earlier runs was asked for", async () => {
  const task = new Task();
  await task.run((run) => abc(run, "a", "b"));
  const seen = await task.run(async (run) => {
    const seen = [run.isReplay];
    await abc(run, "a");
    seen.push(run.isReplay);
    await abc(run, "b");
    seen.push(run.isReplay);
    return seen;
  });
  assert.deepEqual(seen, [true, true, false]);
});

Deno.test("release() pauses before it leaves again while the database is away", async () => {
  const task = new Task();
  task.refusals = 2;
  // Others have a turn of the event loop in between.
  let turn = 0;
  const turns: number[] = [];
  task.onPark = () => {
    turns.push(turn);
    setTimeout(() => turn++, 0);
  };
  const run = task.run(async (run) => {
    const sleeping = run.sleep("long", 3600);
    await settled();
    run.parking.release();
    await sleeping;
  });
  await assert.rejects(run, Parked);
  assert.deepEqual(turns, [0, 1, 2]);
  await until(() => turn === turns.length);
});

Deno.test("parking.until is the end of a short wait, while nothing else happens", async () => {
  // Only a clock that is moved on ends the sleep.
  using _timers = timersOf((milliseconds) =>
    milliseconds === 3000 ? MAX_TIMER_MILLISECONDS : milliseconds
  );
  const task = new Task();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<TestedSteps>();
  const ending = task.run(async (run) => {
    begun.resolve(run);
    await Promise.all([run.sleep("nap", 3), run.step("a", () => held)]);
    return "end";
  });
  const run = await begun.promise;
  await until(() => task.steps.has("sleep:nap"));
  await settled();
  assert.equal(run.parking.until, undefined);
  release();
  await until(() => run.parking.until !== undefined);
  assert.equal(run.parking.until, task.now + 3);
  task.now += 3;
  // It is about to go on.
  assert.equal(run.parking.until, undefined);
  run.parking.recheck();
  assert.equal(await ending, "end");
});

Deno.test("parking.until leaves out a wait for which the run leaves its process", async () => {
  const task = new Task();
  const { promise, resolve } = Promise.withResolvers<TestedSteps>();
  const stop = new AbortController();
  const ending = task.run((run) => {
    resolve(run);
    return run.sleep("night", 3600);
  }, { stop });
  const run = await promise;
  await until(() => task.steps.has("sleep:night"));
  await settled();
  assert.equal(run.parking.until, undefined);
  await assert.rejects(ending, Parked);
});

/** A step as an earlier run has left it. */
function left(task: Task, { id = "step:a", ...more }: Partial<Step>): void {
  const step = { number: 1, version: 1, isAlone: true, startedAt: task.now };
  task.steps.set(id, { id, state: "begun", ...step, ...more });
}

Deno.test("step() waits for the time of its next try in a later run too, and never longer than five minutes", async () => {
  const task = new Task();
  left(task, { state: "waiting", attempts: 20, until: task.now + 60 });
  let tries = 0;
  const code = (run: TestedSteps) =>
    run.step("a", () => {
      tries++;
      throw new Error("away");
    }, { retries: 30 });
  const isParked = async () => {
    const { length } = task.parked;
    const run = task.run(code);
    run.catch(() => {});
    await until(() => task.parked.length > length);
  };
  await isParked();
  assert.equal(tries, 0);
  task.now += 60;
  await isParked();
  assert.equal(tries, 1);
  assert.equal(task.steps.get("step:a")!.until, task.now + 300);
});

Deno.test("step() counts deaths for the step that the process died in, if it is repeated, and for no other", async () => {
  const task = new Task();
  const attempts = await task.run(async (run) => [
    await run.step("plain", ({ attempt }) => attempt),
  ], { deaths: 1 });
  assert.deepEqual(attempts, [1]);
  const other = new Task();
  left(other, { number: 2, id: "step:b" });
  const counted = await other.run(async (run) => [
    await run.step("a", ({ attempt }) => attempt, { retries: 1 }),
    await run.step("b", ({ attempt }) => attempt, { retries: 1 }),
    await run.step("c", ({ attempt }) => attempt, { retries: 1 }),
  ], { deaths: 1 });
  assert.deepEqual(counted, [1, 2, 1]);
});

Deno.test("step() is done however many processes died before it began, or stopped in it", async () => {
  const code = (run: TestedSteps) =>
    run.step("a", ({ attempt }) => attempt, { retries: 1 });
  assert.equal(await new Task().run(code, { deaths: 20 }), 1);
  const stopped = new Task();
  left(stopped, { attempts: 1 });
  assert.equal(await stopped.run(code), 2);
});

Deno.test("step() that has read once is repeated though its process died ten times in it, and no more", async () => {
  for (const [attempts, isTried] of [[9, true], [10, false]] as const) {
    const task = new Task();
    left(task, { usesOnce: true, attempts });
    const run = task.run((run) => run.step("a", ({ once }) => once), {
      deaths: 1,
    });
    if (isTried) assert.match(await run, /\w/);
    else await assert.rejects(run, /was tried 11 times, and its process died/);
  }
});

Deno.test("step() that may be repeated notes nothing before it happens, not even for once", async () => {
  const task = new Task();
  await task.run((run) => run.step("a", ({ once }) => once, { retries: 1 }));
  assert.deepEqual(task.states, ["step:a kept"]);
});

Deno.test("step() keeps no error of a run that was stopped", async () => {
  const task = new Task();
  const stop = new AbortController();
  const run = task.run((run) =>
    run.step("a", () => {
      stop.abort();
      throw new Error("aborted");
    }), { stop });
  run.catch(() => {});
  await settled();
  assert.deepEqual(task.states, ["step:a begun"]);
});

Deno.test("step() takes an ID of 200 characters and no more", async () => {
  const step = (id: string) =>
    new Task().run((run) => run.step(id, () => "done"));
  assert.equal(await step("a".repeat(200)), "done");
  for (const id of ["a".repeat(201), "", 7 as never]) {
    await assert.rejects(step(id), /must be a text of 1 to 200 characters/);
  }
});

Deno.test("Parking.againSeconds looks as late as the work has waited, and twice as late at most, up to a day", () => {
  let now = 1000;
  const parking = new Parking({
    signal: new AbortController().signal,
    startedAt: now,
    now: () => now,
    interrupt: () => new Promise(() => {}),
    stop() {},
  });
  const isWithin = (least: number, most: number) => {
    for (let n = 0; n < 100; n++) {
      const seconds = parking.againSeconds;
      assert(least <= seconds && seconds <= most, `${seconds} s`);
    }
  };
  isWithin(60, 120);
  now += 3600;
  isWithin(3600, 7200);
  now += 30 * 24 * 3600;
  isWithin(12 * 3600, 24 * 3600);
  parking.progressAt = now;
  isWithin(60, 120);
});
