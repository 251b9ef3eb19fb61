import assert from "node:assert/strict";
import { LimitError } from "../../../src/errors.ts";
import { DurableRunner } from "../../../src/mcp/work/durable_runner.ts";
import type { DurableWork } from "../../../src/mcp/work/run_at_work.ts";
import {
  TASKS_KEPT,
  TASKS_PER_CALLER,
} from "../../../src/mcp/work/task_room.ts";
import { Database } from "../../../src/store/database.ts";
import { memoryKv } from "../../../src/store/memory_kv.ts";
import { taskStore } from "../../../src/store/tasks.ts";
import { silentLogger } from "../../kit/log.ts";

const BEGINNING = {
  input: {},
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
} as const;

function setUp() {
  const kv = memoryKv();
  const database = new Database(kv);
  const tasks = taskStore(database);
  const runner = new DurableRunner(
    database,
    tasks,
    silentLogger,
    () => Promise.resolve(undefined),
  );
  const start = (subject: string, run = never) =>
    runner.start(
      {
        caller: { subject, scopes: "all", binding: subject },
        client: BEGINNING.client,
        countedAs: { name: subject, isMany: false },
        changes: {},
        authenticated: {},
        endTask: () => {},
      } as unknown as Parameters<DurableRunner["start"]>[0],
      { tool: "work", scopes: [], keep: 60, version: 1, run },
      BEGINNING,
    );
  return {
    start,
    tasks,
    async [Symbol.asyncDispose]() {
      await runner.stop();
      await database.idle();
      kv.close();
    },
  };
}

const never: DurableWork["run"] = () => new Promise(() => {});

const limit = (words: RegExp) => (error: unknown) => {
  assert(error instanceof LimitError);
  assert.match(error.message, words);
  return true;
};

Deno.test("a person has a hundred pieces of durable work at work and no more, and others have theirs", async () => {
  await using own = setUp();
  for (let n = 0; n < TASKS_PER_CALLER; n++) await own.start("ada");
  await assert.rejects(own.start("ada"), limit(/tasks at a time/));
  await own.start("bob");
});

Deno.test("a person has a thousand pieces of durable work in all, asleep or over", async () => {
  await using own = setUp();
  const owner = { binding: "ada" };
  for (let n = 0; n < TASKS_KEPT; n++) await own.tasks.create(`t${n}`, owner);
  await assert.rejects(own.start("ada"), limit(/stored tasks/));
  await own.start("bob");
});
