import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import {
  addStepFailures,
  MAX_STEPS_COUNTED,
  STEP_FAILURES_SECONDS,
  type StepFailure,
  stepFailureStore,
} from "../../../src/features/work/steps.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { silentLogger } from "../../kit/log.ts";

const NOW = 1_790_000_000;

function failureOf(step: string, count = 1, at = NOW): StepFailure {
  return { tool: "t", step, count, since: at, at };
}

Deno.test("addStepFailures() counts the same steps together, and keeps the most frequent", () => {
  const many = Array.from(
    { length: MAX_STEPS_COUNTED },
    (_, n) => failureOf(`s${n}`, 2),
  );
  const added = addStepFailures(many, [
    failureOf("rare"),
    failureOf("s7", 5, NOW + 3),
  ], NOW + 3);
  assert.equal(added.length, MAX_STEPS_COUNTED);
  assert.deepEqual(added[0], { ...failureOf("s7", 7), at: NOW + 3 });
  assert(!added.some(({ step }) => step === "rare"));
});

Deno.test("addStepFailures() forgets what has not failed for seven days", () => {
  const now = NOW + STEP_FAILURES_SECONDS;
  assert.deepEqual(addStepFailures([failureOf("a")], [], now), []);
  assert.equal(addStepFailures([failureOf("a")], [], now - 1).length, 1);
});

test.onDatabases("note() counts what several processes saw, and the steps of a loop as one", async ({ kv, other }) => {
  using _time = new FakeTime();
  const processes = [kv, other].map((one) =>
    stepFailureStore(new Database(one), silentLogger)
  );
  for (let n = 0; n < 10; n++) {
    for (const one of processes) one.note({ tool: "t", step: `page ${n}` });
  }
  await Promise.all(processes.map((one) => one.close()));
  const [found, ...others] = await processes[0].list();
  assert.deepEqual(
    [found.tool, found.step, found.count, others.length],
    ["t", "page #", 20, 0],
  );
});

test.onDatabases("note() keeps within a value, however long and strange the names are", async ({ kv }) => {
  const store = stepFailureStore(new Database(kv), silentLogger);
  for (let n = 0; n < 2 * MAX_STEPS_COUNTED; n++) {
    const name = String.fromCodePoint(0x4e00 + n).repeat(500);
    store.note({ tool: name, step: name });
  }
  await store.close();
  assert.equal((await store.list()).length, MAX_STEPS_COUNTED);
});
