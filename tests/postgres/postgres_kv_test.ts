import assert from "node:assert/strict";
import type { Connections, Row } from "../../packages/postgres/driver.ts";
import type { Listener } from "../../packages/postgres/listener.ts";
import { PostgresKv } from "../../packages/postgres/postgres_kv.ts";
import { KvClosedError } from "../../src/core/kv/kv_error.ts";
import { settled } from "../kit/wait.ts";

/** A handle on a database that gives one row as each answer. */
class Setting implements Disposable {
  readonly asked: string[] = [];
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
      query: ({ name }: { name: string }) => {
        this.asked.push(name);
        return Promise.resolve([row]);
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
    return this.asked.filter((name) => name === "kv_get_many").length;
  }

  [Symbol.dispose](): void {
    if (this.closed === 0) this.kv.close();
  }
}

for (const hears of [true, false]) {
  const who = hears
    ? "leaves it to notifications to tell"
    : "tells, where no notifications arrive,";
  Deno.test(`commit() ${who} the watches of its own process`, async () => {
    using setting = new Setting(hears);
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
    using setting = new Setting(hears);
    assert.equal(await setting.kv.countOthers(), hears ? 2 : 3);
  });
}

Deno.test("close() is refused a second time, and closes the connections once", () => {
  using setting = new Setting(true);
  setting.kv.close();
  assert.throws(() => setting.kv.close(), KvClosedError);
  assert.equal(setting.closed, 2);
});
