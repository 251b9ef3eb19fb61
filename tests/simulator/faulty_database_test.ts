/** The database of the simulator, without a server. */
import assert from "node:assert/strict";
import { memoryKv } from "../../src/core/kv/memory_kv.ts";
import type { Kv } from "../../src/core/kv/kv.ts";
import { accountKey } from "../../src/core/kv/keys.ts";
import { FAULTS, Faults } from "./faults.ts";
import { FaultyDatabase, OPERATOR } from "./faulty_database.ts";
import { Random } from "./random.ts";
import { type Owner, Scheduler } from "./scheduler.ts";

const KEY = accountKey("person", "account");

const PROCESS: Owner = { ...OPERATOR, name: "p1" };

/** Makes a database on which no fault happens but those of the test. */
function databaseOf(scheduler: Scheduler): FaultyDatabase {
  const nothing = () => {};
  return new FaultyDatabase(
    memoryKv() as unknown as Kv,
    scheduler,
    new Faults({ seed: 1, steps: 0, without: Object.keys(FAULTS) }),
    new Random(1, "database"),
    nothing,
    nothing,
    nothing,
    true,
  );
}

/** Lets everything happen that is planned. */
async function settle(scheduler: Scheduler): Promise<void> {
  while (await scheduler.step());
}

Deno.test("leases leave out one whose account an operator has deleted", async () => {
  using scheduler = new Scheduler(1);
  const database = databaseOf(scheduler);
  const set = async (owner: Owner, leaseUntil?: number) => {
    const operation = database.handleOf(owner).atomic();
    const committed = operation.set(KEY, { leaseUntil }).commit();
    await settle(scheduler);
    assert((await committed).ok);
  };
  await set(PROCESS, 60);
  assert.deepEqual(database.leases.map(({ owner }) => owner), [PROCESS]);
  await set(OPERATOR);
  assert.deepEqual(database.leases, []);
});

Deno.test("heal() does at once what a stall has held", async () => {
  using scheduler = new Scheduler(1);
  const database = databaseOf(scheduler);
  database.stalledUntil = 40_000;
  const read = database.handleOf(PROCESS).get(KEY)
    .then(() => scheduler.milliseconds);
  scheduler.plan(1000, "all is well", () => database.heal());
  await settle(scheduler);
  const milliseconds = await read;
  assert(milliseconds < 1010, `${milliseconds} ms`);
});
