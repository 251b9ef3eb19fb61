import assert from "node:assert/strict";
import { StorageError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { grantStore } from "../../../src/core/store/grants.ts";
import { bestEffort, untilReachable } from "../../../src/core/kv/operations.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { test } from "../../kit/databases.ts";
import { countedSignal } from "../../kit/counted_signal.ts";
import { SteadyTime } from "../../kit/fake_time.ts";

/**
 * Makes an operation that fails a number of times, then gives its number of
 * calls.
 */
function failing(times: number, error: unknown = new StorageError()) {
  let tries = 0;
  return () => ++tries > times ? Promise.resolve(tries) : Promise.reject(error);
}

Deno.test("untilReachable() repeats what fails for want of a database, and nothing else", async () => {
  assert.equal(await untilReachable(failing(2), {}), 3);
  const other = new Error("no");
  await assert.rejects(untilReachable(failing(1, other), {}), other);
});

Deno.test("untilReachable() ends with the last failure once no one waits or the time is over", async () => {
  const signal = AbortSignal.abort();
  await assert.rejects(untilReachable(failing(1), { signal }), StorageError);
  using time = new SteadyTime();
  let tries = 0;
  const trying = () => {
    tries++;
    time.tick(0.05);
    return Promise.reject(new StorageError());
  };
  await assert.rejects(
    untilReachable(trying, { forMilliseconds: 50 }),
    StorageError,
  );
  assert.equal(tries, 1);
});

Deno.test("untilReachable() ends its pause once no one waits, and leaves no timer and no listener", async () => {
  const { abort, signal, listeners } = countedSignal();
  const ending = untilReachable(failing(2), { signal });
  // Here the first failure has happened.
  await Promise.resolve().then(() => {}).then(() => {});
  assert.equal(listeners(), 1);
  abort();
  await assert.rejects(ending, StorageError);
  assert.equal(listeners(), 0);
});

Deno.test("bestEffort() leaves what the database does not take, and hides no other fault", async () => {
  await bestEffort(failing(1));
  await assert.rejects(bestEffort(failing(1, new TypeError("no"))), TypeError);
});

test.inMemory("an id longer than any of ours is unknown, not too long for the database", async ({ kv }) => {
  const database = new Database(kv);
  const id = "x".repeat(3000);
  assert.equal(await taskStore(database).find(id, "someone"), undefined);
  assert.equal(await grantStore(database).find(id), undefined);
});
