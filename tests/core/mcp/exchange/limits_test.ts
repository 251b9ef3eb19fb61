import assert from "node:assert/strict";
import { tool, type ToolLimit } from "../../../../src/authoring/tool.ts";
import {
  type LimitKey,
  Limits,
  NO_NETWORK,
} from "../../../../src/core/mcp/exchange/limits.ts";
import { LimitError } from "../../../../src/core/errors.ts";
import type { Logger } from "../../../../src/core/log/log.ts";
import { silentLogger } from "../../../kit/log.ts";
import { compileCatalogue } from "../../../../src/core/catalogue/catalogue.ts";
import { Database } from "../../../../src/core/kv/database.ts";
import { memoryKv } from "../../../../src/core/kv/memory_kv.ts";
import { FakeTime } from "../../../kit/fake_time.ts";

const ADA: LimitKey = { name: "ada", isMany: false };
const BOB: LimitKey = { name: "bob", isMany: false };
const OFFICE: LimitKey = { name: "office", isMany: true };

interface Settings {
  callsPerMinute?: number;
  limit?: ToolLimit;
  kv?: Deno.Kv;
  log?: Logger;
}

/** Makes limits for a tool with a limit and one without. */
function limitsOf(
  { callsPerMinute = 0, limit, kv = memoryKv(), log = silentLogger }: Settings,
) {
  const run = () => "";
  const { tools } = compileCatalogue({
    tools: [tool({ name: "echo", limit, run }), tool({ name: "free", run })],
  }, { serverInfo: { name: "s", version: "1" } });
  const limits = new Limits(
    { database: new Database(kv), log },
    { callsPerMinute, tools },
  );
  return {
    charge: (method: string, limitKey: LimitKey) =>
      limits.charge(method, { limitKey }),
    enter: (caller: LimitKey) => limits.enter(tools.get("echo")!, caller),
  };
}

async function refuses(
  act: () => unknown,
  what: string,
  seconds: number,
): Promise<void> {
  await assert.rejects(async () => await act(), (error) => {
    assert(error instanceof LimitError);
    const unit = seconds === 1 ? "second" : "seconds";
    assert.equal(
      error.message,
      `Too many ${what}: try again in ${seconds} ${unit}`,
    );
    return true;
  });
}

for (
  const method of [
    "tools/call",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "tasks/update",
    "tasks/cancel",
    "logging/setLevel",
    "subscriptions/listen",
  ]
) {
  Deno.test(`charge() counts ${method}, each caller's own`, async () => {
    using time = new FakeTime();
    const { charge } = limitsOf({ callsPerMinute: 2 });
    await charge(method, ADA);
    await charge(method, ADA);
    await refuses(() => charge(method, ADA), "calls a minute", 30);
    await charge(method, BOB);
    time.tick(29);
    await refuses(() => charge(method, ADA), "calls a minute", 1);
    time.tick(1);
    await charge(method, ADA);
  });
}

Deno.test("charge() counts ten times as many polls of tasks, and not as calls", async () => {
  using _time = new FakeTime();
  const { charge } = limitsOf({ callsPerMinute: 1 });
  for (const [caller, polls] of [[ADA, 10], [OFFICE, 100]] as const) {
    for (let n = 0; n < polls; n++) await charge("tasks/get", caller);
    const seconds = 60 / polls;
    await refuses(
      () => charge("tasks/get", caller),
      "polls a minute",
      Math.ceil(seconds),
    );
    await charge("tools/call", caller);
  }
});

Deno.test("charge() counts the sessions that anyone opens, and lets many people open no more", async () => {
  using _time = new FakeTime();
  const { charge } = limitsOf({ callsPerMinute: 1 });
  await charge("initialize", OFFICE);
  await refuses(() => charge("initialize", OFFICE), "sessions a minute", 60);
  await charge("initialize", ADA);
  await refuses(() => charge("initialize", ADA), "sessions a minute", 60);
  await charge("tools/call", ADA);
});

Deno.test("charge() does not count what is cheap", async () => {
  using _time = new FakeTime();
  const { charge } = limitsOf({ callsPerMinute: 1 });
  for (let count = 0; count < 20; count++) {
    await charge("tools/list", ADA);
    await charge("tools/list", OFFICE);
  }
});

Deno.test("charge() has no limit where there are 0 calls a minute", async () => {
  const { charge } = limitsOf({ callsPerMinute: 0 });
  for (const caller of [ADA, NO_NETWORK]) {
    await charge("tools/call", caller);
  }
});

Deno.test("charge() has one limit, generous, for all whose address is unknown, and says once which setting is missing", async () => {
  using _time = new FakeTime();
  const warnings: string[] = [];
  const { charge } = limitsOf({
    callsPerMinute: 1,
    log: { ...silentLogger, warning: (message) => void warnings.push(message) },
  });
  for (let count = 0; count < 100; count++) {
    await charge("initialize", NO_NETWORK);
  }
  await refuses(
    () => charge("tools/call", NO_NETWORK),
    "calls a minute",
    1,
  );
  await charge("tools/call", OFFICE);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /TRUSTED_PROXIES/);
});

Deno.test("enter() lets so many calls of a tool be under way", async () => {
  const { enter } = limitsOf({ limit: { callsAtOnce: 1 } });
  const place = await enter(ADA);
  await refuses(() => enter(ADA), "calls to echo at a time", 5);
  await enter(BOB);
  place.leave();
  place.leave();
  await enter(ADA);
  assert.throws(() => place.take(), LimitError);
});

Deno.test("enter() has one limit of calls a minute in all processes", async () => {
  using _time = new FakeTime();
  const kv = memoryKv();
  const [here, there] = [0, 1].map(() =>
    limitsOf({ limit: { callsPerMinute: 2 }, kv })
  );
  await here.enter(ADA);
  await there.enter(ADA);
  for (const { enter } of [here, there]) {
    await refuses(() => enter(ADA), "calls to echo a minute", 30);
  }
  kv.close();
});

Deno.test("enter() keeps no place of a call that is refused", async () => {
  using _time = new FakeTime();
  const { enter } = limitsOf({ limit: { callsPerMinute: 1, callsAtOnce: 1 } });
  (await enter(ADA)).leave();
  for (let tries = 0; tries < 2; tries++) {
    await refuses(() => enter(ADA), "calls to echo a minute", 60);
  }
});

Deno.test("enter() has one limit for all where it is shared, and for those whom nothing tells apart", async () => {
  using _time = new FakeTime();
  for (const limit of [{ callsPerMinute: 1 }, { callsAtOnce: 1 }]) {
    const shared = limitsOf({ limit: { ...limit, shared: true } });
    await shared.enter(ADA);
    await assert.rejects(shared.enter(BOB), LimitError);
    const { enter } = limitsOf({ limit });
    await enter(NO_NETWORK);
    await assert.rejects(enter(NO_NETWORK), LimitError);
    await enter(ADA);
  }
});
