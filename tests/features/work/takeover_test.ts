import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { stepStore } from "../../../src/features/work/steps.ts";
import { TaskRegistry } from "../../../src/features/work/task_registry.ts";
import { taskRunStore } from "../../../src/features/work/task_runs.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { wakeStore } from "../../../src/features/work/run_record.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

test.inMemory("takeOver() begins no run of work that another process has ended meanwhile, as its results are gone", async ({ kv, other }) => {
  using time = new FakeTime();
  const [slow, fast] = [kv, other].map((kv) => {
    const database = new Database(kv);
    const runs = taskRunStore(database, { lapseSeconds: 0 });
    const steps = stepStore(database);
    return { database, runs, steps, tasks: taskStore(database) };
  });
  const caller = { subject: "ada", scopes: "all", binding: "ada" } as const;
  const run = { tool: "a", scopes: [], keep: 60, address: "", caller };
  const { claim } = await slow.tasks.createDurable("t", run, {
    input: {},
    client: { capabilities: {}, revision: "2026-07-28" },
    meta: {},
  }, "ada");
  const step = { id: "step:a", number: 1, version: 1, isAlone: true };
  await slow.steps.save(claim, {
    ...step,
    state: "kept",
    startedAt: 0,
    text: "1",
  });
  time.tick(30);
  const [wake] = await wakeStore(fast.database).due(1);
  const taken = await fast.runs.take(wake, () => fast.steps.sizeOf("t"));
  assert("claim" in taken);
  const outcome = { content: [] };
  await fast.tasks.end("t", { status: "completed", outcome }, taken.claim);
  await fast.database.idle();
  const registry = new TaskRegistry(
    {
      ...slow,
      resume: () => assert.fail("it goes on"),
      addresses: () => [],
      runs: { lapseSeconds: 0 },
    } as unknown as ConstructorParameters<typeof TaskRegistry>[0],
  );
  assert.equal(await registry.takeOver(claim), undefined);
});
