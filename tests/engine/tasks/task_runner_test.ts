import assert from "node:assert/strict";
import { systemClock } from "../../../src/clock.ts";
import { CallerBound } from "../../../src/engine/caller_bound.ts";
import { TaskRunner } from "../../../src/engine/tasks/task_runner.ts";
import { logger } from "../../../src/log.ts";
import { Database } from "../../../src/store/database.ts";
import { taskStore } from "../../../src/store/tasks.ts";
import { until } from "../../kit.ts";
import { withKv } from "../../store/fixture.ts";

type Request = Parameters<TaskRunner["start"]>[0];

const BINDING = "ada";

/** A request whose grant may end; how its task does is kept in `ended`. */
function requestOf(isLive: () => boolean, ended: string[] = []): Request {
  return {
    caller: { subject: "ada", scopes: "all", binding: BINDING },
    client: { capabilities: {}, revision: "2026-07-28" },
    countedAs: BINDING,
    isLive: () => Promise.resolve(isLive()),
    endTask: (_taskId: string, outcome: string) => ended.push(outcome),
  } as unknown as Request;
}

function runnerOn(kv: Deno.Kv) {
  const database = new Database(kv);
  const tasks = taskStore(database);
  const questions = new CallerBound(10, "questions");
  const runner = new TaskRunner(tasks, systemClock, logger("test"), questions);
  return { database, tasks, runner };
}

/** A tool that hears of nothing. */
const never = () => new Promise<never>(() => {});

Deno.test("a task whose grant ends fails and says so, whatever its tool does", () =>
  withKv(async (kv) => {
    const { database, tasks, runner } = runnerOn(kv);
    let isLive = true;
    const ended: string[] = [];
    const request = requestOf(() => isLive, ended);
    const { taskId } = await runner.start(request, [], never);
    isLive = false;
    await until(() => runner.size === 0);
    assert.deepEqual(ended, ["stopped"]);
    const task = await tasks.find(taskId, BINDING);
    assert.deepEqual([task?.status, task?.outcome], ["failed", {
      code: -32603,
      message: "What allowed this task has ended, or is paused",
    }]);
    await database.idle();
  }));

Deno.test("stop() waits for no tool that ignores its signal", () =>
  withKv(async (kv) => {
    const { database, tasks, runner } = runnerOn(kv);
    const ended: string[] = [];
    const request = requestOf(() => true, ended);
    const { taskId } = await runner.start(request, [], never);
    await runner.stop();
    assert.deepEqual(ended, ["stopped"]);
    assert.equal(runner.size, 0);
    const task = await tasks.find(taskId, BINDING);
    assert.equal(task?.status, "failed");
    await assert.rejects(
      runner.start(requestOf(() => true), [], never),
      { status: 503 },
    );
    await database.idle();
  }));
