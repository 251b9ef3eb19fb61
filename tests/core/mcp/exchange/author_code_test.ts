import assert from "node:assert/strict";
import {
  abortSafely,
  andThen,
  AuthorCode,
} from "../../../../src/core/mcp/exchange/author_code.ts";
import { givenTo } from "../../../../src/core/mcp/exchange/given_keys.ts";
import { ChallengeError } from "../../../../src/core/errors.ts";
import { Suspended } from "../../../../src/core/protocol/input_rounds.ts";
import { settled, until } from "../../../kit/wait.ts";
import { tool } from "../../../../src/authoring/tool.ts";
import { recordLog } from "../../../kit/log.ts";
import { Events, resultOf } from "../../../kit/answer.ts";
import { startServer } from "../../../kit/server.ts";

const REASON = new Suspended();

/** A run, and the warnings that it went on although it was cut. */
function oneRun() {
  const late: string[] = [];
  return { run: new AuthorCode((message) => late.push(message)), late };
}

Deno.test("andThen() goes on with what the code gives, throws, or makes of it", async () => {
  const { run, late } = oneRun();
  assert.equal(await run.andThen(Promise.resolve(1), (n) => n + 1), 2);
  const failed = Promise.reject(new Error("broken"));
  await assert.rejects(
    async () => await run.andThen(failed, () => 1),
    /broken/,
  );
  await assert.rejects(
    async () =>
      await run.andThen(Promise.resolve(1), () => {
        throw new Error("unfit");
      }),
    /unfit/,
  );
  assert.deepEqual([run.reason, late], [undefined, []]);
});

Deno.test("interrupt() ends every wait, and its promise settles for no one", async () => {
  const { run, late } = oneRun();
  const steps: string[] = [];
  const code = async () => {
    try {
      await run.interrupt(REASON);
    } catch {
      steps.push("catch");
    } finally {
      steps.push("finally");
    }
  };
  const hook = async () => await run.andThen(code(), () => 1);
  await assert.rejects(async () => await run.wait(hook()), REASON);
  await settled();
  assert.deepEqual([steps, late], [[], []]);
  run.interrupt(new Error("another"));
  assert.equal(run.reason, REASON);
  // Work that begins after that is not waited for either.
  await assert.rejects(run.andThen(Promise.resolve(1), (n) => n), REASON);
});

Deno.test("a run that goes on though interrupted is told once, and gives nothing", async () => {
  const { run, late } = oneRun();
  run.goesOn();
  assert.deepEqual(late, []);
  let isUsed = false;
  const code = Promise.withResolvers<number>();
  const followed = run.andThen(code.promise, () => isUsed = true);
  run.interrupt(REASON);
  await assert.rejects(followed, REASON);
  code.resolve(1);
  await settled();
  assert.equal(isUsed, false);
  run.goesOn();
  assert.equal(late.length, 1);
  assert.match(late[0], /^A run went on after its question/);
});

Deno.test("a run that goes on after its sign-in ended is told, and one that was cancelled is not", () => {
  const signedOut = oneRun();
  signedOut.run.interrupt(new ChallengeError("Sign in again", "invalid_token"));
  signedOut.run.goesOn();
  assert.match(signedOut.late[0], /^A run went on although the sign-in/);
  const cancelled = oneRun();
  cancelled.run.interrupt(new DOMException("enough", "AbortError"));
  cancelled.run.goesOn();
  assert.deepEqual(cancelled.late, []);
});

Deno.test("andThen() goes on at once with a value that is here, and waits for whatever has a then()", async () => {
  const double = (value: number) => value * 2;
  assert.equal(andThen(2, double), 4);
  assert.equal(andThen(undefined, () => 1), 1);
  assert.equal(andThen(null, () => 1), 1);
  const query: PromiseLike<number> = {
    then: (resolve, reject) => Promise.resolve(2).then(resolve, reject),
  };
  for (const run of [undefined, oneRun().run]) {
    const doubled = andThen(query, double, () => run);
    assert.ok(doubled instanceof Promise);
    assert.equal(await doubled, 4);
    const failed = Promise.reject(new TypeError("no"));
    await assert.rejects(async () => await andThen(failed, double, () => run));
  }
});

Deno.test("what waits for an interrupted run is collected", async () => {
  const collected: number[] = [];
  const registry = new FinalizationRegistry<number>((n) => collected.push(n));
  async function ask(n: number): Promise<void> {
    const { run } = oneRun();
    const held = { n };
    registry.register(held, n);
    const code = async () => {
      try {
        await run.interrupt(REASON);
      } finally {
        held.n++;
      }
    };
    await assert.rejects(run.andThen(code(), () => {}), REASON);
  }
  for (let n = 0; n < 100; n++) await ask(n);
  const deadline = performance.now() + 30_000;
  while (collected.length < 90 && performance.now() < deadline) {
    // Garbage enough for the collector to come by itself.
    Array.from({ length: 1e5 }, (_, n) => ({ n }));
    await settled();
  }
  assert.ok(collected.length >= 90, `${collected.length} of 100`);
});

function throwing(): never {
  throw new Error("closed twice");
}

Deno.test("abortSafely() logs what listeners throw, those of dependent signals too, and tells all of them", () => {
  const { logger: log, events } = recordLog();
  const abort = new AbortController();
  let told = 0;
  abort.signal.addEventListener("abort", throwing);
  abort.signal.addEventListener("abort", () => told++);
  AbortSignal.any([abort.signal]).onabort = throwing;
  abortSafely(abort, "enough", {
    log,
    reference: () => "r",
    code: () => undefined,
  });
  abortSafely(abort, "again", {
    log,
    reference: () => "r",
    code: () => undefined,
  });
  assert.deepEqual([told, abort.signal.reason.message], [1, "enough"]);
  assert.deepEqual(
    events.map(({ properties: { reference, error } }) => [
      reference,
      (error as Error).message,
    ]),
    [["r", "closed twice"], ["r", "closed twice"]],
  );
});

Deno.test("abortSafely() logs no key that the code of a listener was given", () => {
  const { logger: log, events } = recordLog();
  const code = new AuthorCode(() => {});
  givenTo(code).add("closed twice");
  const abort = new AbortController();
  abort.signal.addEventListener("abort", throwing);
  abortSafely(abort, "enough", { log, reference: () => "r", code: () => code });
  const [{ properties: { error } }] = events;
  assert.equal((error as Error).message, "(hidden)");
});

Deno.test("abortSafely() leaves an exception to a process that handles its own", () => {
  const { logger: log, events } = recordLog();
  const seen: unknown[] = [];
  const handle = (event: ErrorEvent) => {
    event.preventDefault();
    seen.push(event.error.message);
  };
  addEventListener("error", handle);
  try {
    const abort = new AbortController();
    abort.signal.addEventListener("abort", throwing);
    abortSafely(abort, "enough", {
      log,
      reference: () => "r",
      code: () => undefined,
    });
  } finally {
    removeEventListener("error", handle);
  }
  assert.deepEqual([seen, events], [["closed twice"], []]);
});

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

Deno.test("no listener of a tool ends the process, whoever fires its signal", async (t) => {
  const { log, events } = recordLog("error");
  const run = (
    _input: unknown,
    { signal, progress }: {
      signal: AbortSignal;
      progress(done: number): Promise<void>;
    },
  ) =>
    new Promise<string>((resolve) => {
      signal.addEventListener("abort", throwing);
      signal.addEventListener("abort", () => resolve("stopped"));
      progress(1);
    });
  await using server = await startServer({
    log,
    tools: [
      tool({ name: "tool", run }),
      tool({ name: "task", task: "required", run }),
      tool({
        name: "asking",
        async run(_input, { signal, roots }) {
          signal.addEventListener("abort", throwing);
          return `${(await roots()).length}`;
        },
      }),
    ],
  });
  const isLogged = async () => {
    await until(() => events.length > 0);
    const [{ message, properties }] = events.splice(0);
    assert.equal(message, "A listener of `signal` threw");
    assert.ok(properties.reference);
  };
  const _meta = { progressToken: 1 };
  const params = { name: "tool", _meta };
  const session = await server.openSession();
  const begin = async () => {
    const stream = new Events(await session.request("tools/call", params, 7));
    await stream.read();
    return stream;
  };

  await t.step("a client of 2025 that cancels", async () => {
    const stream = await begin();
    await session.notify("notifications/cancelled", { requestId: 7 });
    assert.equal((await stream.next()).done, true);
    await isLogged();
  });

  await t.step("a client of 2026 that leaves", async () => {
    const stream = new Events(
      await server.call("tools/call", { name: "tool" }, { meta: _meta }),
    );
    await stream.read();
    await stream.close();
    await isLogged();
  });

  await t.step("a question of 2026", async () => {
    const capabilities = { roots: {} };
    const { resultType } = await resultOf(
      server.call("tools/call", { name: "asking" }, { capabilities }),
    );
    assert.equal(resultType, "input_required");
    await isLogged();
  });

  await t.step("a session that ends", async () => {
    const other = await server.openSession();
    const stream = new Events(await other.request("tools/call", params));
    await stream.read();
    await other.end();
    assert.equal((await stream.read()).error.code, -32000);
    assert.equal((await stream.next()).done, true);
    await isLogged();
  });

  await t.step("a task that is cancelled", async () => {
    const { taskId } = await resultOf(
      server.call("tools/call", { name: "task" }, { capabilities: TASKS }),
    );
    await server.call("tasks/cancel", { taskId }, { capabilities: TASKS });
    await isLogged();
  });

  await t.step("a server that stops", async () => {
    const stream = await begin();
    server.app.stop();
    assert.ok((await stream.read()).result);
    await isLogged();
  });
});
