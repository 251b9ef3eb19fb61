import assert from "node:assert/strict";
import {
  checkDurable,
  type DurableTask,
  MAX_KEEP_SECONDS,
} from "../../../src/authoring/durable.ts";

Deno.test("checkDurable() accepts what the option may be", () => {
  for (
    const task of [
      { durable: true },
      { durable: true, keep: 1, version: 1 },
      { durable: true, keep: MAX_KEEP_SECONDS, version: 12 },
    ] as const
  ) checkDurable(task);
});

Deno.test("checkDurable() names the member that is wrong", () => {
  for (
    const [task, complaint] of [
      [{ durable: false }, /must be optional, required or durable/],
      [{ durable: true, keep: 0 }, /task\.keep/],
      [{ durable: true, keep: MAX_KEEP_SECONDS + 1 }, /task\.keep/],
      [{ durable: true, version: 0 }, /task\.version/],
      [{ durable: true, version: 1.5 }, /task\.version/],
    ] as const
  ) assert.throws(() => checkDurable(task as DurableTask), complaint);
});
