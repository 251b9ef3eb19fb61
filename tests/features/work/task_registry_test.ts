import assert from "node:assert/strict";
import { CallerBound } from "../../../src/core/mcp/exchange/limits.ts";
import { AuthorCode } from "../../../src/core/mcp/exchange/author_code.ts";
import { CallContext } from "../../../src/core/mcp/exchange/call_context.ts";
import {
  stepFailureStore,
  stepStore,
} from "../../../src/features/work/steps.ts";
import { waitStore } from "../../../src/features/questions/waits.ts";
import { TaskRegistry } from "../../../src/features/work/task_registry.ts";
import type {
  CallInProgress,
  TaskWork,
} from "../../../src/features/work/task_work.ts";
import {
  ChallengeError,
  HttpError,
  StorageError,
} from "../../../src/core/errors.ts";
import { recordLog, silentLogger } from "../../kit/log.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { type Task, taskStore } from "../../../src/features/work/tasks.ts";
import { until } from "../../kit/wait.ts";
import { test } from "../../kit/databases.ts";

type Request = Parameters<TaskRegistry["start"]>[0];

const BINDING = "ada";
const TOOL = { name: "work" };

/** Makes the work of a tool without scopes. */
const work = (run: TaskWork["run"]): TaskWork => ({ tool: "work", run });

/**
 * Makes a request whose grant may end; the end of its task is recorded in
 * `ended`.
 */
function requestOf(
  isLive: (grantId?: string) => boolean,
  ended: string[] = [],
): Request {
  return {
    caller: {
      subject: "ada",
      scopes: "all",
      binding: BINDING,
      grantId: "first",
    },
    client: { capabilities: {}, revision: "2026-07-28" },
    limitKey: BINDING,
    changes: {},
    authenticated: {
      isLive: (grantId?: string) => Promise.resolve(isLive(grantId)),
    },
    endTask: (_taskId: string, outcome: string) => ended.push(outcome),
  } as unknown as Request;
}

function runnerOn(kv: Deno.Kv, log = silentLogger) {
  const database = new Database(kv);
  const tasks = taskStore(database);
  const questions = new CallerBound(10, "questions");
  const runner = new TaskRegistry({
    database,
    tasks,
    steps: stepStore(database),
    failures: stepFailureStore(database, log),
    waits: waitStore(database),
    log,
    questions,
    resume: () => assert.fail(),
    addresses: () => [],
  });
  return { database, tasks, runner };
}

/** A tool's work that ignores its signal. */
const never = () => new Promise<never>(() => {});

test.inMemory("a task whose grant ends fails and says so, whatever its tool does", async ({ kv }) => {
  const { database, tasks, runner } = runnerOn(kv);
  let isLive = true;
  const ended: string[] = [];
  const request = requestOf(() => isLive, ended);
  const { task: { taskId } } = await runner.start(request, work(never));
  isLive = false;
  await until(() => runner.size === 0);
  assert.deepEqual(ended, ["stopped"]);
  const task = await tasks.find(taskId, BINDING);
  assert.deepEqual([task?.status, task?.outcome], ["failed", {
    code: -32603,
    message: "The permission for this task has ended, or is paused",
  }]);
  await database.idle();
});

test.inMemory("a task goes on with the grant that used it last, and ends with that", async ({ kv }) => {
  const { database, tasks, runner } = runnerOn(kv);
  let isLive = true;
  let asked = 0;
  const request = requestOf((grantId) => {
    if (grantId !== "second") return false;
    asked++;
    return isLive;
  });
  const { task: { taskId } } = await runner.start(request, work(never));
  await tasks.use(taskId, { binding: BINDING, grantId: "second" });
  await until(() => asked > 1);
  assert.equal((await tasks.find(taskId, BINDING))?.status, "working");
  isLive = false;
  await until(() => runner.size === 0);
  assert.equal((await tasks.find(taskId, BINDING))?.status, "failed");
  await database.idle();
});

test.inMemory("a task neither fails nor is lost because the database is away for a moment", async ({ kv }) => {
  const { database, tasks, runner } = runnerOn(kv);
  const { end } = tasks;
  let failures = 0;
  const fail = () => {
    failures++;
    return Promise.reject(new StorageError());
  };
  tasks.setMessages = fail;
  tasks.end = () => {
    tasks.end = end;
    return fail();
  };
  const { task: { taskId } } = await runner.start(
    requestOf(() => true),
    work(async ({ progress }) => {
      await progress(1, 2, "Half of it");
      return { content: [] };
    }),
  );
  await until(() => runner.size === 0);
  assert.equal(failures, 2);
  const { status, outcome } = (await tasks.find(taskId, BINDING))!;
  assert.deepEqual([status, outcome], ["completed", { content: [] }]);
  await database.idle();
});

for (
  const [error, expected] of [
    [new HttpError(503, "It is away"), /^It is away\. .* in 5 s$/],
    [
      new ChallengeError("It has ended", "invalid_token"),
      /^It has ended\. .* sign in$/,
    ],
    [new StorageError(), /^Storage is unavailable.* in 5 s$/],
  ] as const
) {
  test.inMemory(`a task that ends with ${error.name} ${error.message} says what to do`, async ({ kv }) => {
    const { logger, events: logged } = recordLog("warning");
    const { database, tasks, runner } = runnerOn(kv, logger);
    const ended: string[] = [];
    const request = requestOf(() => true, ended);
    const { task: { taskId } } = await runner.start(
      request,
      work(() => Promise.reject(error)),
    );
    await until(() => runner.size === 0);
    assert.deepEqual(ended, ["refused"]);
    assert.deepEqual(
      logged.map(({ properties }) => properties),
      error.status < 500
        ? []
        : [{ reference: taskId, repeated: undefined, error }],
    );
    const { status, outcome } = (await tasks.find(taskId, BINDING))!;
    const { content: [{ text }], isError } = outcome as unknown as {
      content: [{ text: string }];
      isError: boolean;
    };
    assert.deepEqual([status, isError], ["completed", true]);
    assert.match(text, expected);
    await database.idle();
  });
}

test.inMemory("stop() waits for no tool that ignores its signal", async ({ kv }) => {
  const { database, tasks, runner } = runnerOn(kv);
  const ended: string[] = [];
  const request = requestOf(() => true, ended);
  const { task: { taskId } } = await runner.start(request, work(never));
  await runner.stop();
  assert.deepEqual(ended, ["stopped"]);
  assert.equal(runner.size, 0);
  const task = await tasks.find(taskId, BINDING);
  assert.equal(task?.status, "failed");
  await assert.rejects(
    runner.start(requestOf(() => true), work(never)),
    { status: 503 },
  );
  await database.idle();
});

/** A call that runs, and may become a task. */
function callOf(
  result: Promise<{ content: [] }>,
  take: CallInProgress["take"],
  stopped: string[] = [],
): CallInProgress {
  const request: CallInProgress["request"] = {
    ...requestOf(() => true),
    authorCode: new AuthorCode(() => {}),
    recall: ({ key }) => key === "known" ? { action: "accept" } : undefined,
    execution: { interrupt: (reason) => stopped.push(reason) },
  };
  return { request, result, mayAsk: true, statusMessage: "3 of 9", take };
}

test.inMemory("handOver() makes a task of what runs, with its progress, its answers and its end", async ({ kv }) => {
  const { database, tasks, runner } = runnerOn(kv);
  const { promise: result, resolve } = Promise.withResolvers<
    { content: [] }
  >();
  let taken: Task | undefined;
  let context: CallContext | undefined;
  const call = callOf(result, (task, work) => {
    taken = task;
    context = new CallContext(work);
    return true;
  });
  await runner.handOver(call, { ...TOOL, scopes: ["mail"] });
  const { taskId } = taken!;
  assert.equal(taken?.statusMessage, "3 of 9");
  const find = async () => (await tasks.find(taskId, BINDING))!;
  await until(async () => (await find()).statusMessage === "3 of 9");
  assert.deepEqual((await find()).scopes, ["mail"]);
  await context!.progress(4, 9, "indexing");
  await until(async () => (await find()).statusMessage !== "3 of 9");
  resolve({ content: [] });
  await until(() => runner.size === 0);
  const { status, outcome } = await find();
  assert.deepEqual([status, outcome], ["completed", { content: [] }]);
  await database.idle();
});

test.inMemory("handOver() keeps no task of a call that ended meanwhile, or that the server stops", async ({ kv }) => {
  const { database, tasks, runner } = runnerOn(kv);
  let seen: string | undefined;
  const refused = callOf(never(), (task) => {
    seen = task.taskId;
    return false;
  });
  await runner.handOver(refused, TOOL);
  await until(() => runner.size === 0);
  assert.equal(await tasks.find(seen!, BINDING), undefined);
  assert.equal(await tasks.hasMany(BINDING, 1), false);

  let wasTaken = false;
  const late = callOf(never(), () => wasTaken = true);
  const adopting = runner.handOver(late, TOOL);
  await runner.stop();
  await adopting;
  assert.equal(wasTaken, false);
  assert.equal(await tasks.hasMany(BINDING, 1), false);
  await assert.rejects(runner.handOver(late, TOOL), HttpError);
  await database.idle();
});

test.inMemory("handOver() stops what runs when its task is cancelled anywhere", async ({ kv }) => {
  const { database, tasks, runner } = runnerOn(kv);
  const stopped: string[] = [];
  let taskId: string | undefined;
  const call = callOf(never(), (task) => {
    taskId = task.taskId;
    return true;
  }, stopped);
  await runner.handOver(call, TOOL);
  await tasks.end(taskId!, { status: "cancelled" });
  await until(() => runner.size === 0);
  assert.deepEqual(stopped, ["The task has ended"]);
  await database.idle();
});
