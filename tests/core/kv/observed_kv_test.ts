import assert from "node:assert/strict";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { observedKv } from "../../../src/core/kv/observed_kv.ts";
import { telemetry } from "../../../src/core/telemetry/current.ts";
import { registerCollector, startCollecting } from "../../kit/collecting.ts";

/** Collects telemetry of the database while something is done. */
async function operationsIn(act: () => Promise<unknown>): Promise<unknown[]> {
  const told: unknown[] = [];
  const { databaseOperation } = telemetry!;
  telemetry!.databaseOperation = (facts, operate) => {
    told.push(facts);
    return databaseOperation.call(telemetry, facts, operate) as never;
  };
  try {
    await act();
  } finally {
    telemetry!.databaseOperation = databaseOperation;
  }
  return told;
}

Deno.test("observedKv() is the database itself where no one collects", () => {
  const kv = memoryKv();
  assert.equal(observedKv(kv), kv);
});

Deno.test("observedKv() does the same until telemetry has started", async () => {
  using plain = memoryKv();
  using _ = registerCollector();
  const kv = observedKv(plain);
  await kv.atomic().set(["a"], 1).commit();
  assert.equal((await kv.get(["a"])).value, 1);
});

for (
  const [name, open] of Object.entries({
    "a database in memory": () => Promise.resolve(memoryKv()),
    "Deno KV": () => Deno.openKv(":memory:"),
  })
) {
  Deno.test(`observedKv() does what ${name} does, and tells verbs, kinds and numbers of keys`, async () => {
    const plain = await open();
    using _ = await startCollecting();
    try {
      const kv = observedKv(plain);
      assert.notEqual(kv, plain);
      const told = await operationsIn(async () => {
        const written = await kv.atomic()
          .check({ key: ["code", 1], versionstamp: null })
          .set(["code", 1], "one")
          .set(["code", 2], "two", { expireIn: 60_000 })
          .delete(["grant", 1])
          .commit();
        assert(written.ok);
        const again = await kv.atomic()
          .check({ key: ["code", 1], versionstamp: null })
          .set(["code", 1], "lost")
          .commit();
        assert.equal(again.ok, false);
        assert.equal((await kv.get(["code", 1])).value, "one");
        const many = await kv.getMany([["code", 1], ["code", 3]]);
        assert.deepEqual(many.map(({ value }) => value), ["one", null]);
        const listed = kv.list({ prefix: ["code"] }, { limit: 1 });
        assert.deepEqual(
          (await Array.fromAsync(listed)).map(({ value }) => value),
          ["one"],
        );
      });
      assert.deepEqual(told, [
        { verb: "commit", kind: "code", keys: 3 },
        { verb: "commit", kind: "code", keys: 1 },
        { verb: "get", kind: "code", keys: 1 },
        { verb: "getMany", kind: "code", keys: 2 },
        { verb: "list", kind: "code", keys: 1 },
      ]);
      const watching = kv.watch([["code", 1]]).getReader();
      assert.deepEqual(
        (await watching.read()).value?.map(({ value }) => value),
        ["one"],
      );
      await watching.cancel();
    } finally {
      plain.close();
    }
  });
}
