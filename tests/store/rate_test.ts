import assert from "node:assert/strict";
import { Database } from "../../src/store/database.ts";
import { rateStore } from "../../src/store/rate.ts";
import { FakeTime } from "./fake_time.ts";
import { withKv } from "./fixture.ts";

Deno.test("exchange() gives what others took since the last time, and only that", () =>
  withKv(async (kv) => {
    using _time = new FakeTime();
    const [one, other] = [
      rateStore(new Database(kv), "token"),
      rateStore(new Database(kv), "token"),
    ];
    assert.deepEqual(await one.exchange({ a: 3, b: 1 }), []);
    assert.deepEqual(await other.exchange({ a: 1 }), [{ a: 3, b: 1 }]);
    assert.deepEqual(await one.exchange({ a: 5 }), [{ a: 1 }]);
    assert.deepEqual(await other.exchange({ a: 1 }), [{ a: 2 }]);
    assert.deepEqual(await other.exchange({ a: 1 }), [{ a: 0 }]);
  }));

Deno.test("exchange() takes nothing twice when some was given back", () =>
  withKv(async (kv) => {
    using _time = new FakeTime();
    const [one, other] = [
      rateStore(new Database(kv), "token"),
      rateStore(new Database(kv), "token"),
    ];
    await one.exchange({ a: 9 });
    await other.exchange({});
    await one.exchange({ a: 4 });
    assert.deepEqual(await other.exchange({}), [{ a: 0 }]);
    await one.exchange({ a: 6 });
    assert.deepEqual(await other.exchange({}), [{ a: 2 }]);
  }));

Deno.test("exchange() keeps endpoints apart, and forgets processes that ended", () =>
  withKv(async (kv) => {
    using time = new FakeTime();
    await rateStore(new Database(kv), "token").exchange({ a: 1 });
    assert.deepEqual(
      await rateStore(new Database(kv), "register").exchange({}),
      [],
    );
    time.tick(61);
    assert.deepEqual(
      await rateStore(new Database(kv), "token").exchange({}),
      [],
    );
  }));
