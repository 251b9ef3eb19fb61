import assert from "node:assert/strict";
import { tool } from "../../src/authoring/tool.ts";
import type { ToolLimit } from "../../src/authoring/tool_limit.ts";
import type { CountedAs } from "../../src/engine/counted_as.ts";
import { Limits } from "../../src/engine/limits.ts";
import { LimitError } from "../../src/errors.ts";
import { silentLogger } from "../log.ts";
import { compileCatalogue } from "../../src/protocol/catalogue.ts";
import { Database } from "../../src/store/database.ts";
import { memoryKv } from "../../src/store/memory_kv.ts";
import { FakeTime } from "../store/fake_time.ts";
import { until } from "../kit.ts";

const ADA: CountedAs = { name: "ada", isMany: false };
const BOB: CountedAs = { name: "bob", isMany: false };
const OFFICE: CountedAs = { name: "office", isMany: true };

interface Settings {
  callsPerMinute?: number;
  limit?: ToolLimit;
  kv?: Deno.Kv;
}

/** Makes limits for a tool with a limit and one without. */
function limitsOf(
  { callsPerMinute = 0, limit, kv = memoryKv() }: Settings,
) {
  const run = () => "";
  const { tools } = compileCatalogue({
    tools: [tool({ name: "echo", limit, run }), tool({ name: "free", run })],
  }, { serverInfo: { name: "s", version: "1" } });
  const limits = new Limits(
    { database: new Database(kv), log: silentLogger },
    { callsPerMinute, tools },
  );
  return {
    charge: (method: string, countedAs?: CountedAs) =>
      limits.charge(method, { countedAs }),
    enter: (caller?: CountedAs) => limits.enter(tools.get("echo")!, caller),
  };
}

function refuses(act: () => unknown, what: string, seconds: number): void {
  assert.throws(act, (error) => {
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
  ]
) {
  Deno.test(`charge() counts ${method}, each caller's own`, () => {
    using time = new FakeTime();
    const { charge } = limitsOf({ callsPerMinute: 2 });
    charge(method, ADA);
    charge(method, ADA);
    refuses(() => charge(method, ADA), "calls a minute", 30);
    charge(method, BOB);
    time.tick(29);
    refuses(() => charge(method, ADA), "calls a minute", 1);
    time.tick(1);
    charge(method, ADA);
  });
}

Deno.test("charge() has ten times as much for a caller that may be many people", () => {
  using _time = new FakeTime();
  const { charge } = limitsOf({ callsPerMinute: 2 });
  for (let count = 0; count < 20; count++) charge("tools/call", OFFICE);
  refuses(() => charge("tools/call", OFFICE), "calls a minute", 3);
});

Deno.test("charge() counts the sessions of those who may be many people, and of no one else", () => {
  using _time = new FakeTime();
  const { charge } = limitsOf({ callsPerMinute: 1 });
  for (let count = 0; count < 10; count++) charge("initialize", OFFICE);
  refuses(() => charge("initialize", OFFICE), "calls a minute", 6);
  for (let count = 0; count < 20; count++) charge("initialize", ADA);
  charge("tools/call", ADA);
});

Deno.test("charge() counts neither what is cheap nor those whom nothing tells apart", () => {
  using _time = new FakeTime();
  const { charge } = limitsOf({ callsPerMinute: 1 });
  for (let count = 0; count < 20; count++) {
    charge("tools/list", ADA);
    charge("tools/list", OFFICE);
    charge("tools/call");
    charge("initialize");
  }
});

Deno.test("charge() tells other processes of a caller who took a quarter of what they may have, and not of less", async () => {
  using time = new FakeTime();
  const kv = memoryKv();
  const here = limitsOf({ callsPerMinute: 40, kv });
  const there = limitsOf({ callsPerMinute: 40, kv });
  const takeTen = ({ charge }: typeof here, caller: CountedAs) => {
    for (let count = 0; count < 10; count++) charge("tools/call", caller);
  };
  const told = async () => {
    const records = await Array.fromAsync(kv.list({ prefix: ["rate"] }));
    return JSON.stringify(records.map(({ value }) => value));
  };
  here.charge("tools/call", BOB);
  takeTen(here, ADA);
  time.tick(1);
  here.charge("tools/call", ADA);
  await until(async () => (await told()).includes("ada"));
  assert(!(await told()).includes("bob"));
  takeTen(there, ADA);
  time.tick(1);
  there.charge("tools/call", ADA);
  // 22 are taken, and as many as came back in 2 s are left.
  await until(() => {
    try {
      for (let count = 0; count < 20; count++) there.charge("tools/call", ADA);
      return false;
    } catch (error) {
      return error instanceof LimitError;
    }
  });
  kv.close();
});

Deno.test("enter() lets so many calls a minute of a tool in", () => {
  using time = new FakeTime();
  const { enter } = limitsOf({ limit: { callsPerMinute: 1 } });
  enter(ADA);
  refuses(() => enter(ADA), "calls to echo a minute", 60);
  enter(BOB);
  time.tick(60);
  enter(ADA);
});

Deno.test("enter() lets so many calls of a tool be under way", () => {
  const { enter } = limitsOf({ limit: { callsAtOnce: 1 } });
  const place = enter(ADA);
  assert.equal(place.isKept, false);
  refuses(() => enter(ADA), "calls to echo at a time", 5);
  enter(BOB);
  place.leave();
  enter(ADA);
});

Deno.test("enter() tells other processes of calls a minute, and of nothing else", async () => {
  for (
    const [limit, count] of [[{ callsPerMinute: 1 }, 1], [
      { callsAtOnce: 1 },
      0,
    ]] as const
  ) {
    const kv = memoryKv();
    const { enter } = limitsOf({ limit, kv });
    const records = () => Array.fromAsync(kv.list({ prefix: ["rate"] }));
    enter(ADA);
    await until(async () => (await records()).length >= count);
    assert.equal((await records()).length, count);
    kv.close();
  }
});

Deno.test("enter() keeps no place of a call that is refused", () => {
  using _time = new FakeTime();
  const { enter } = limitsOf({ limit: { callsPerMinute: 1, callsAtOnce: 1 } });
  enter(ADA).leave();
  for (let tries = 0; tries < 2; tries++) {
    refuses(() => enter(ADA), "calls to echo a minute", 60);
  }
});

Deno.test("enter() has one limit for all where it is shared, and for those whom nothing tells apart", () => {
  using _time = new FakeTime();
  for (const limit of [{ callsPerMinute: 1 }, { callsAtOnce: 1 }]) {
    const shared = limitsOf({ limit: { ...limit, shared: true } });
    shared.enter(ADA);
    assert.throws(() => shared.enter(BOB), LimitError);
    assert.throws(() => shared.enter(), LimitError);
    const { enter } = limitsOf({ limit });
    enter(undefined);
    assert.throws(() => enter(undefined), LimitError);
    enter(ADA);
  }
});
