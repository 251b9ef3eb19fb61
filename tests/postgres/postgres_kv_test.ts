import assert from "node:assert/strict";
import type {
  Connections,
  Row,
  Statement,
} from "../../packages/postgres/driver.ts";
import type { Listener } from "../../packages/postgres/listener.ts";
import { PostgresKv } from "../../packages/postgres/postgres_kv.ts";
import { KvClosedError } from "../../src/core/kv/kv_error.ts";
import { settled } from "../kit/wait.ts";

/** A handle on a database that gives one row as each answer, and lists none. */
class Setting implements AsyncDisposable {
  readonly asked: Statement[] = [];
  closed = 0;
  readonly kv: PostgresKv;

  /** @param hears true if notifications arrive */
  constructor(hears: boolean) {
    const row: Row = { identity: "1 2", version: "1", count: 3, value: null };
    const close = () => {
      this.closed++;
      return Promise.resolve();
    };
    const connections = {
      query: (statement: Statement) => {
        this.asked.push(statement);
        return Promise.resolve(statement.name === "kv_list" ? [] : [row]);
      },
      close,
    };
    this.kv = new PostgresKv({
      connections: connections as unknown as Connections,
      listener: { hears, close } as unknown as Listener,
      schema: "tools",
      place: "postgres://host/tools",
      isAnnounced: ([kind]) => kind === "a",
    });
  }

  /** Counts how often watched keys were read. */
  get reads(): number {
    return this.asked.filter(({ name }) => name === "kv_get_many").length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kv[Symbol.asyncDispose]();
  }
}

for (const hears of [true, false]) {
  const who = hears
    ? "leaves it to notifications to tell"
    : "tells, where no notifications arrive,";
  Deno.test(`commit() ${who} the watches of its own process`, async () => {
    await using setting = new Setting(hears);
    const { kv } = setting;
    await kv.checkPlace();
    const reader = kv.watch([["a"]]).getReader();
    await reader.read();
    await kv.atomic().set(["b"], 1).commit();
    await settled();
    assert.equal(setting.reads, 1);
    await kv.atomic().set(["a"], 1).commit();
    await settled();
    assert.equal(setting.reads, hears ? 1 : 2);
    await reader.cancel();
  });

  Deno.test(`countOthers() leaves out this process, which is counted ${hears ? "" : "only "}where notifications arrive: ${hears}`, async () => {
    await using setting = new Setting(hears);
    assert.equal(await setting.kv.countOthers(), hears ? 2 : 3);
  });
}

Deno.test("close() is refused a second time, and closes the connections once", async () => {
  await using setting = new Setting(true);
  setting.kv.close();
  assert.throws(() => setting.kv.close(), KvClosedError);
  await setting[Symbol.asyncDispose]();
  assert.equal(setting.closed, 2);
});

Deno.test("a handle that is disposed of is closed, and its watches end", async () => {
  const setting = new Setting(true);
  const reader = setting.kv.watch([["a"]]).getReader();
  await reader.read();
  await setting[Symbol.asyncDispose]();
  assert.equal(setting.closed, 2);
  assert((await reader.read()).done);
  await assert.rejects(setting.kv.get(["a"]), KvClosedError);
});

Deno.test("list() reads at most 500 records at a time", async () => {
  await using setting = new Setting(true);
  const asks = [{}, { limit: 1000, batchSize: 1000 }, { batchSize: 9 }, {
    limit: 7,
  }];
  for (const options of asks) {
    await Array.fromAsync(setting.kv.list({ prefix: ["a"] }, options));
  }
  const sizes = setting.asked.map(({ values }) => values[2]);
  assert.deepEqual(sizes, [500, 500, 9, 7]);
});
