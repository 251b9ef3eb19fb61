/** The erasure of a person's tasks, whatever dies on the way. */
import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { stepStore } from "../../../src/features/work/steps.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { test } from "../../kit/databases.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { until } from "../../kit/wait.ts";

const BINDING = "ada";
const PRIVATE = "private ".repeat(10_000);
const QUESTION = {
  method: "elicitation/create",
  params: { message: PRIVATE },
};
const RUN = {
  tool: "report",
  scopes: [],
  keep: 60,
  address: "",
  caller: { subject: BINDING, scopes: "all", binding: BINDING },
} as const;
const BEGINNING = {
  input: { text: PRIVATE },
  client: { capabilities: {}, revision: "2026-07-28" },
  meta: {},
};

/** Leaves a task, durable or not, with all that may be kept of it. */
async function leaveTask(kv: Deno.Kv, isDurable: boolean): Promise<void> {
  const database = new Database(kv);
  const tasks = taskStore(database);
  if (isDurable) {
    const { claim } = await tasks.createDurable("t", RUN, BEGINNING, BINDING);
    await stepStore(database).save(claim, {
      id: "step:a",
      number: 1,
      version: 1,
      isAlone: true,
      state: "kept",
      startedAt: 0,
      text: "private",
    });
  } else await tasks.create("t", { binding: BINDING });
  const stop = new AbortController();
  const { signal } = stop;
  const keep = isDurable ? () => Promise.resolve() : undefined;
  const asked = ["a", "b"].map((key) =>
    tasks.ask("t", key, QUESTION, { signal, keep }).catch(() => {})
  );
  await until(async () => {
    const task = await tasks.find("t", BINDING);
    return Object.keys(task?.inputRequests ?? {}).length === 2;
  });
  // Its process is gone: no one takes the answer.
  stop.abort();
  await Promise.all(asked);
  await tasks.answer("t", { a: { text: PRIVATE } });
  await database.idle();
}

async function privateIn(kv: Deno.Kv): Promise<string[]> {
  const all = await Array.fromAsync(kv.list({ prefix: [] }));
  return all.filter(({ value }) => JSON.stringify(value).includes("private"))
    .map(({ key }) => String(key[0]));
}

/** Makes a handle like `kv` on which a process dies at its nth commit. */
function dyingAt(kv: Deno.Kv, commits: number): Deno.Kv {
  let left = commits;
  return kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      if (left-- <= 0) throw new Error("died");
      return await commit();
    }),
  });
}

for (const isDurable of [false, true]) {
  test.inMemory(`forgetAllOf() leaves nothing of ${isDurable ? "durable work" : "a task"}, wherever its process dies, once it is repeated`, async () => {
    for (let commits = 0, isWhole = false; !isWhole; commits++) {
      const kv = await Deno.openKv(":memory:");
      await leaveTask(kv, isDurable);
      const dying = new Database(dyingAt(kv, commits));
      // With it goes what it would have done later.
      dying.background = () => {};
      isWhole = await taskStore(dying).forgetAllOf(BINDING)
        .then(() => true, () => false);
      const again = new Database(kv);
      again.background = () => {};
      await taskStore(again).forgetAllOf(BINDING);
      assert.deepEqual(await privateIn(kv), [], `died at commit ${commits}`);
      assert(commits < 30);
      kv.close();
    }
  });
}
