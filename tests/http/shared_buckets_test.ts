import assert from "node:assert/strict";
import { SharedBuckets } from "../../src/http/shared_buckets.ts";
import { logger } from "../../src/log.ts";
import { Database } from "../../src/store/database.ts";

const NOW = 1_800_000_000_000;
const RATE = { burst: 4, perSecond: 1, told: 0.25 };

Deno.test("exchange() tells others of what fits a value, however much is in use", async () => {
  const kv = await Deno.openKv(":memory:");
  try {
    const database = new Database(kv, { clock: () => NOW });
    const [one, other] = [0, 1].map(() =>
      new SharedBuckets({ database, log: logger("test") }, "token", RATE)
    );
    // Named as an IPv6 network is.
    const names = Array.from(
      { length: 5000 },
      (_, n) => `6:20010db8${n.toString(16).padStart(8, "0")}`,
    );
    for (const name of names) {
      for (let n = 0; n < RATE.burst; n++) one.take(name, NOW);
    }
    await one.exchange(NOW);
    // Whoever has nothing to tell does not listen.
    other.take("own", NOW);
    await other.exchange(NOW);
    const refused = names.filter((name) => other.take(name, NOW) > 0);
    assert.deepEqual(refused, names.slice(0, 1000));
  } finally {
    kv.close();
  }
});
