import assert from "node:assert/strict";
import type { Running } from "../../src/engine/running.ts";
import {
  SUBSCRIPTIONS,
  Subscriptions,
} from "../../src/engine/subscriptions.ts";
import { HttpError } from "../../src/errors.ts";

/** A subscription that counts how often it is told to end. */
function subscription() {
  return {
    stopped: 0,
    isLive: () => Promise.resolve(true),
    expel() {},
    beat() {},
    cancel: () => assert.fail("no client cancelled"),
    stop() {
      this.stopped++;
    },
  } satisfies Running & { stopped: number };
}

function isBusy(error: unknown): boolean {
  return error instanceof HttpError && error.status === 503 &&
    "retry-after" in error.headers;
}

Deno.test("Subscriptions refuses one more than a process can carry", () => {
  const subscriptions = new Subscriptions();
  const one = subscription();
  subscriptions.add(one);
  for (let i = 1; i < SUBSCRIPTIONS; i++) subscriptions.add(subscription());
  assert.throws(() => subscriptions.add(subscription()), isBusy);
  subscriptions.delete(one);
  subscriptions.add(one);
});

Deno.test("Subscriptions.end() tells all to end and refuses new ones", () => {
  const subscriptions = new Subscriptions();
  const [open, left] = [subscription(), subscription()];
  subscriptions.add(open);
  subscriptions.add(left);
  subscriptions.delete(left);
  subscriptions.end();
  assert.deepEqual([open.stopped, left.stopped], [1, 0]);
  assert.throws(() => subscriptions.add(subscription()), isBusy);
});
