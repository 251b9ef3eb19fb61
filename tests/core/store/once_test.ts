import assert from "node:assert/strict";
import { now } from "../../../src/core/clock.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";
import { assertionStore, stateStore } from "../../../src/core/store/once.ts";
import { secretStore } from "../../../src/core/store/secrets.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

test.onDatabases("find() makes one secret, however many ask first", async ({ kv, other }) => {
  const made = await fiftyAtOnce(
    kv,
    other,
    secretStore,
    (secrets) => secrets.find("test"),
  );
  assert.equal(made[0].length, 32);
  for (const secret of made) assert.deepEqual(secret, made[0]);
  assert.notDeepEqual(
    await secretStore(new Database(kv)).find("other"),
    made[0],
  );
});

test.onDatabases("key() is the same in every process", async ({ kv, other }) => {
  const key = await stateStore(new Database(kv)).key();
  assert.equal(key.length, 32);
  assert.deepEqual(await stateStore(new Database(other)).key(), key);
});

Deno.test("key() is asked for again after a failure", async () => {
  const kv = await Deno.openKv(":memory:");
  const broken = new Proxy(kv, {
    get: () => () => Promise.reject(new Error("no")),
  });
  let current = broken;
  const changing = new Proxy(kv, {
    get: (_, name) => {
      const value = current[name as keyof Deno.Kv];
      return typeof value === "function" ? value.bind(current) : value;
    },
  });
  const store = stateStore(new Database(changing));
  await assert.rejects(store.key());
  current = kv;
  assert.equal((await store.key()).length, 32);
  kv.close();
});

test.onDatabases("spend() lets one of fifty uses through", async ({ kv, other }) => {
  const until = { expiresAt: now() + 60 };
  const spent = await fiftyAtOnce(
    kv,
    other,
    stateStore,
    (states) => states.spend("n", until),
  );
  assert.equal(spent.filter(Boolean).length, 1);
  assert.equal(await stateStore(new Database(kv)).spend("m", until), true);
});

Deno.test("use() refuses what was used before its end when a clock that was ahead is set back", async () => {
  using time = new FakeTime();
  const kv = memoryKv();
  const database = new Database(kv);
  const assertion = { issuer: "desk", jti: "1", expiresAt: now() + 60 };
  const assertions = assertionStore(database);
  const states = stateStore(database);
  assert(await assertions.use(assertion));
  assert(await states.spend("n", assertion));
  time.tick(600);
  // The database drops what has expired.
  await kv.set(["other"], 1);
  time.set(-600);
  assert.equal(await assertions.use(assertion), undefined);
  assert.equal(await states.spend("n", assertion), false);
});
