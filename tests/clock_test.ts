import assert from "node:assert/strict";
import { pause, within } from "../src/core/clock.ts";

Deno.test("pause() ends with a signal, and waits for none that has fired", async () => {
  const abort = new AbortController();
  const waiting = pause(2 ** 31 - 1, abort.signal);
  abort.abort();
  await waiting;
  await pause(2 ** 31 - 1, abort.signal);
});

Deno.test("within() gives what comes in time, and else what `late` gives or throws", async () => {
  const never = new Promise<string>(() => {});
  const failing = Promise.reject(new Error("no"));
  const tooLate = () => {
    throw new Error("late");
  };
  assert.equal(await within(2 ** 31 - 1, Promise.resolve("yes")), "yes");
  await assert.rejects(within(2 ** 31 - 1, failing, tooLate), /no/);
  assert.equal(await within(0, never), undefined);
  assert.equal(await within(0, never, () => "late"), "late");
  await assert.rejects(within(0, never, tooLate), /late/);
});
