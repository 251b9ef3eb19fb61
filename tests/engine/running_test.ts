import assert from "node:assert/strict";
import type { CountedAs } from "../../src/engine/counted_as.ts";
import {
  CALLS_PER_CALLER,
  type Running,
  RunningCalls,
} from "../../src/engine/running.ts";
import { HttpError } from "../../src/errors.ts";
import { logger } from "../../src/log.ts";

const ADA: CountedAs = { name: "ada", isMany: false };
const BOB: CountedAs = { name: "bob", isMany: false };

function callOf(countedAs?: CountedAs): Running & { stopped?: string } {
  return {
    countedAs,
    beat() {},
    cancel() {},
    stop(reason) {
      this.stopped = reason;
    },
    isLive: () => Promise.resolve(true),
    expel() {},
  };
}

function runningCalls(): RunningCalls {
  const cancellations = {
    save: () => Promise.resolve(),
    find: () => Promise.resolve([]),
  };
  return new RunningCalls(cancellations, () => 0, logger("test"));
}

Deno.test("check() refuses a caller with too many calls under way, and no one else", () => {
  const running = runningCalls();
  const calls = Array.from({ length: CALLS_PER_CALLER }, () => callOf(ADA));
  for (const call of calls) {
    running.check(call);
    running.add(call);
  }
  assert.throws(
    () => running.check(callOf(ADA)),
    (error) => error instanceof HttpError && error.status === 429,
  );
  running.check(callOf(BOB));
  running.check(callOf());
  running.delete(calls[0]);
  running.check(callOf(ADA));
  running.stop();
});

Deno.test("add() tells a call that came while the server was stopping", () => {
  const running = runningCalls();
  const early = callOf(ADA);
  running.add(early);
  assert.equal(early.stopped, undefined);
  running.stop();
  const late = callOf(ADA);
  running.add(late);
  assert.equal(early.stopped, "The server stops");
  assert.equal(late.stopped, "The server stops");
});
