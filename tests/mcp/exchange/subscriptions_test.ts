import assert from "node:assert/strict";
import type { Running } from "../../../src/mcp/exchange/running.ts";
import type { CountedAs } from "../../../src/mcp/exchange/counted_as.ts";
import { Subscriptions } from "../../../src/mcp/exchange/subscriptions.ts";

/** Makes a subscription that counts how often it is told to end. */
function subscription(countedAs?: CountedAs) {
  return {
    countedAs,
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

const BUSY = {
  status: 503,
  message: "Too many subscriptions",
  headers: { "retry-after": "30" },
};

Deno.test("Subscriptions refuses one more than the ten thousand that a process carries", () => {
  const subscriptions = new Subscriptions();
  const one = subscription();
  subscriptions.add(one);
  for (let i = 1; i < 10_000; i++) subscriptions.add(subscription());
  assert.throws(() => subscriptions.add(subscription()), BUSY);
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
  assert.throws(() => subscriptions.add(subscription()), {
    ...BUSY,
    message: "The server is stopping",
  });
});

Deno.test("Subscriptions refuses a caller more than a hundred, and no one else", () => {
  const subscriptions = new Subscriptions();
  const ada = { name: "ada", isMany: false };
  const one = subscription(ada);
  subscriptions.add(one);
  for (let i = 1; i < 100; i++) subscriptions.add(subscription(ada));
  assert.throws(() => subscriptions.add(subscription(ada)), { status: 429 });
  subscriptions.add(subscription({ name: "bob", isMany: false }));
  subscriptions.delete(one);
  subscriptions.delete(one);
  subscriptions.add(subscription(ada));
  assert.throws(() => subscriptions.add(subscription(ada)), { status: 429 });
});
