import assert from "node:assert/strict";
import { SharedBuckets } from "../../src/http/shared_buckets.ts";
import { silentLogger } from "../log.ts";
import { Database } from "../../src/store/database.ts";

const NOW = 1_800_000_000_000;
const RATE = { burst: 4, perSecond: 1, told: 0.25 };

/** Several processes that share what they take. */
async function startProcesses() {
  const kv = await Deno.openKv(":memory:");
  const database = new Database(kv, { clock: () => NOW });
  const log = silentLogger;
  return {
    start: () => new SharedBuckets({ database, log }, "token", RATE),
    /** Reads their records. */
    records: () => Array.fromAsync(kv.list({ prefix: [] })),
    [Symbol.dispose]: () => kv.close(),
  };
}

/** Reads the others' counts, as a process does that has counts to report. */
async function hear(buckets: SharedBuckets, time: number): Promise<void> {
  buckets.take("own", time);
  await buckets.exchange(time);
}

Deno.test("exchange() tells others once a second", async () => {
  using processes = await startProcesses();
  const one = processes.start();
  one.take("a", NOW);
  await one.exchange(NOW);
  for (let n = 1; n < RATE.burst; n++) one.take("a", NOW);
  for (
    const [time, isRefused] of [[NOW + 999, false], [NOW + 1000, true]] as const
  ) {
    await one.exchange(time);
    const other = processes.start();
    await hear(other, time);
    assert.equal(other.take("a", time) > 0, isRefused);
  }
});

Deno.test("exchange() tells others of what fits a value, however much is in use", async () => {
  using processes = await startProcesses();
  const one = processes.start();
  // Names of IPv6 networks.
  const names = Array.from(
    { length: 5000 },
    (_, n) => `6:20010db8${n.toString(16).padStart(8, "0")}`,
  );
  for (const name of names) {
    for (let n = 0; n < RATE.burst; n++) one.take(name, NOW);
  }
  await one.exchange(NOW);
  const other = processes.start();
  await hear(other, NOW);
  const refused = names.filter((name) => other.take(name, NOW) > 0);
  assert.deepEqual(refused, names.slice(0, 1000));
});

Deno.test("exchange() writes nothing where too little was taken", async () => {
  using processes = await startProcesses();
  await processes.start().exchange(NOW);
  assert.deepEqual(await processes.records(), []);
});
