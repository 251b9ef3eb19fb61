import assert from "node:assert/strict";
import { StorageError } from "../../src/errors.ts";
import { alive, commit, expireIn, find, reach } from "../../src/store/kv.ts";
import { now } from "../../src/clock.ts";
import { fiftyAtOnce, testOnDatabases } from "./databases.ts";

const KEY = ["a"];

testOnDatabases("find() gives a live record and its version", async (kv) => {
  assert.equal(await find(kv, KEY), undefined);
  const { versionstamp } = await kv.set(KEY, { n: 1, expiresAt: now() + 60 });
  const found = await find<{ n: number; expiresAt: number }>(kv, KEY);
  assert.equal(found?.value.n, 1);
  assert.equal(found?.versionstamp, versionstamp);
});

testOnDatabases("find() knows nothing that has expired", async (kv) => {
  await kv.set(KEY, { expiresAt: now() });
  assert.equal(await find(kv, KEY), undefined);
});

Deno.test("alive() ends with the second that expiresAt names", () => {
  const entry = (expiresAt: number) => ({
    key: KEY,
    value: { expiresAt },
    versionstamp: "1",
  });
  assert.equal(alive(entry(now() - 1)), undefined);
  assert.equal(alive(entry(now())), undefined);
  assert.ok(alive(entry(now() + 2)));
  const nothing = { key: KEY, value: null, versionstamp: null };
  assert.equal(alive(nothing), undefined);
});

Deno.test("expireIn() is in milliseconds and never in the past", () => {
  const milliseconds = expireIn({ expiresAt: now() + 60 }).expireIn;
  assert.ok(milliseconds > 58_000 && milliseconds <= 60_000);
  assert.equal(expireIn({ expiresAt: 0 }).expireIn, 1);
});

testOnDatabases(
  "commit() lets one of fifty checks through",
  async (kv, other) => {
    const won = await fiftyAtOnce(
      kv,
      other,
      (kv) => kv,
      (kv, n) =>
        commit(
          kv,
          (operation) =>
            operation.check({ key: KEY, versionstamp: null }).set(KEY, n),
        ),
    );
    assert.equal(won.filter(Boolean).length, 1);
    assert.equal((await kv.get(KEY)).value, won.indexOf(true));
  },
);

Deno.test("reach() tries again while the database is locked", async () => {
  let tries = 0;
  const value = await reach(() => {
    if (++tries < 5) throw new TypeError("database is locked");
    return Promise.resolve("here");
  });
  assert.deepEqual([value, tries], ["here", 5]);
});

Deno.test("reach() gives up with a StorageError that keeps the cause", async () => {
  const cause = new TypeError("connection refused");
  let tries = 0;
  await assert.rejects(
    reach(() => {
      tries++;
      throw cause;
    }),
    (error) =>
      error instanceof StorageError && error.status === 503 &&
      error.cause === cause,
  );
  assert.equal(tries, 1);
});
