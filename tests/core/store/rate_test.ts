import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { rateStore } from "../../../src/core/store/rate.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const RATE = { burst: 6, perSecond: 1 };

test.onDatabases("take() gives no more than a bucket has, however many processes take at once", async ({ kv, other }) => {
  using _time = new FakeTime();
  const parts = await fiftyAtOnce(
    kv,
    other,
    (database) => rateStore(database, "token", RATE),
    (rates) => rates.take("a", 1, 0),
  );
  assert.equal(parts.filter(({ given }) => given === 1).length, 6);
  for (const { given, waitMilliseconds } of parts) {
    assert.equal(waitMilliseconds, given === 1 ? 0 : 1000);
  }
});

test.inMemory("take() gives what there is of a request, takes what was spent, and fills with time", async ({ kv }) => {
  using time = new FakeTime();
  const rates = rateStore(new Database(kv), "token", RATE);
  const empty = (waitMilliseconds: number) => ({ given: 0, waitMilliseconds });
  const some = (given: number) => ({ given, waitMilliseconds: 0 });
  assert.deepEqual(await rates.take("a", 3, 2), some(3));
  assert.deepEqual(await rates.take("a", 3, 0), some(1));
  assert.deepEqual(await rates.take("a", 3, 0), empty(1000));
  // No debt: what was let through beyond it is no one else's loss.
  assert.deepEqual(await rates.take("a", 1, 100), empty(1000));
  time.tick(2);
  assert.deepEqual(await rates.take("a", 3, 0), some(2));
  assert.deepEqual(await rates.take("b", 9, 0), some(6));
  const others = rateStore(new Database(kv), "register", RATE);
  assert.deepEqual(await others.take("a", 9, 0), some(6));
});

test.inMemory("take() stays empty no longer than a bucket fills when the clock is set back", async ({ kv }) => {
  let milliseconds = 1_800_000_000_000;
  const database = new Database(kv, { clock: () => milliseconds });
  const rates = rateStore(database, "token", RATE);
  await rates.take("a", 6, 0);
  milliseconds -= 3_600_000;
  const { waitMilliseconds } = await rates.take("a", 1, 0);
  assert.equal(waitMilliseconds, 1000);
  milliseconds += 1000;
  assert.equal((await rates.take("a", 6, 0)).given, 1);
});
