import assert from "node:assert/strict";
import {
  printProgress,
  StatusMessage,
} from "../../../src/features/work/task_work.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { settled } from "../../kit/wait.ts";

/** A message, and what is written of it. */
function oneMessage() {
  const written: (string | undefined)[] = [];
  const status = new StatusMessage(({ statusMessage }) => {
    written.push(statusMessage);
    return Promise.resolve();
  });
  return { status, written };
}

Deno.test("a message is written at once, the last of those that follow when a second has passed", async () => {
  using _timers = new HastyTimers([400]);
  using time = new FakeTime();
  const { status, written } = oneMessage();
  await status.report({ statusMessage: "one" });
  time.tick(0.6);
  // A clock that is set changes no pause.
  time.set(-3600);
  await status.report({ statusMessage: "two" });
  await status.report({ statusMessage: "three" });
  assert.deepEqual(written, ["one"]);
  await settled();
  await settled();
  assert.deepEqual(written, ["one", "three"]);
  assert.equal(await status.end(), undefined);
});

Deno.test("end() gives the message that waits, and leaves no timer behind", async () => {
  using time = new FakeTime();
  const { status, written } = oneMessage();
  await status.report({ statusMessage: "one" });
  await status.report({ statusMessage: "two" });
  assert.equal(await status.end(), "two");
  time.tick(5);
  await status.report({ statusMessage: "late" });
  assert.deepEqual(written, ["one"]);
});

Deno.test("write() writes at once what waits, and nothing twice", async () => {
  const { status, written } = oneMessage();
  await status.report({ statusMessage: "one" });
  await status.report({ statusMessage: "two" });
  await status.write();
  await status.write();
  assert.deepEqual(written, ["one", "two"]);
  assert.equal(await status.end(), undefined);
});

Deno.test("printProgress() gives the numbers and the words, as far as there are any", () => {
  const numbers = { progress: 3, total: 9 };
  const message = "Brewing";
  assert.equal(printProgress({ ...numbers, message }), "3 of 9: Brewing");
  assert.equal(printProgress({ progress: 3, message }), "Brewing");
  assert.equal(printProgress(numbers), "3 of 9");
  assert.equal(printProgress({ progress: 3 }), undefined);
});
