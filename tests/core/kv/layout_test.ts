import assert from "node:assert/strict";
import { StorageError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { layoutKey, movingKey } from "../../../src/core/kv/keys.ts";
import {
  checkedKv,
  checkLayout,
  checkLayoutOf,
  LAYOUT,
} from "../../../src/core/kv/layout.ts";
import { LAYOUT as RESTORED } from "../../../packages/operate/restore.ts";
import { test } from "../../kit/databases.ts";
import { CountingKv } from "../../kit/counting_kv.ts";
import { FaultyKv } from "../../kit/faulty_kv.ts";
import { kvWith } from "../../kit/kv.ts";
import { overtaken } from "../../kit/overtaken_kv.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";

const NEXT = LAYOUT + 1;
const SESSION = ["session", "id"];

async function all(kv: Deno.Kv): Promise<[Deno.KvKey, unknown][]> {
  const entries = await Array.fromAsync(kv.list({ prefix: [] }));
  return entries.map(({ key, value }) => [key, value]);
}

test.onDatabases("checkLayout() numbers an empty database once, however many start on it", async ({ kv, other }) => {
  await Promise.all(
    Array.from({ length: 20 }, async (_, n) => {
      const database = new Database(checkedKv(n % 2 ? kv : other));
      await database.commit((transaction) =>
        transaction.setForever(["secret", String(n)], n)
      );
    }),
  );
  assert.equal((await all(kv)).length, 21);
  assert.equal((await kv.get(layoutKey())).value, LAYOUT);
});

test.onDatabases("a database of another layout is neither read nor written", async ({ kv }) => {
  await kv.set(layoutKey(), NEXT);
  await kv.set(SESSION, "of another release");
  const before = await all(kv);
  const database = new Database(checkedKv(kv));
  const words = new RegExp(`The database: got "layout ${NEXT}", .*Fix: .*\\.$`);
  await assert.rejects(checkLayoutOf(database), words);
  for (
    const operation of [
      () => database.get(SESSION),
      () => database.getMany([SESSION]),
      () => database.list(["session"]),
      () => database.commit((it) => it.setForever(SESSION, "ours")),
    ]
  ) {
    await assert.rejects(
      operation(),
      (error: Error) =>
        error instanceof StorageError &&
        words.test((error.cause as Error).message),
    );
  }
  await database.idle();
  assert.deepEqual(await all(kv), before);
});

test.inMemory("checkLayout() refuses records without a number, and half of a move, and changes neither", async ({ kv }) => {
  // Of an application that has its own records in the same database.
  await kv.set(["orders", 1], "theirs");
  await checkLayout(kv);
  await kv.delete(layoutKey());
  for (
    const [key, words] of [
      [["grant", "id"], /got "no layout"/],
      [["secret", "state"], /got "no layout"/],
      [SESSION, /got "no layout"/],
      [movingKey(), /got "half of a move"/],
    ] as const
  ) {
    await kv.set(key, 1);
    const before = await all(kv);
    await assert.rejects(checkLayout(kv), words);
    assert.deepEqual(await all(kv), before);
    await kv.delete(key);
  }
});

test.onDatabases("checkLayout() goes on where another process starts between two of its steps", async ({ kv, other }) => {
  const start = async () => {
    await checkLayout(other);
    await other.set(SESSION, "theirs");
  };
  await checkLayout(overtaken(kv, start));
  for (const key of [layoutKey(), SESSION]) await kv.delete(key);
  let isFirst = true;
  const slow = kvWith(kv, {
    async getMany(keys: readonly Deno.KvKey[]) {
      const read = await kv.getMany([...keys]);
      if (isFirst) await start();
      isFirst = false;
      return read;
    },
  });
  await checkLayout(slow);
  assert.equal((await kv.get(SESSION)).value, "theirs");
});

test.inMemory("a number that was given up is not written over that of another release", async ({ kv }) => {
  const stalled = new StalledKv(kv);
  const database = new Database(checkedKv(stalled.kv), {
    deadlineMilliseconds: 10,
  });
  stalled.beginAtCommit();
  const write = () => database.commit((it) => it.setForever(SESSION, "ours"));
  await assert.rejects(write(), StorageError);
  await kv.set(layoutKey(), NEXT);
  await stalled.end();
  assert.deepEqual(await all(kv), [[layoutKey(), NEXT]]);
  const later = new Database(checkedKv(stalled.kv));
  await assert.rejects(checkLayoutOf(later));
  await Promise.all([database, later].map((it) => it.idle()));
});

test.inMemory("a check that hangs holds up its own operation alone", async ({ kv }) => {
  const faulty = new FaultyKv(kv, { kind: "hangs", at: 1 });
  const database = new Database(checkedKv(faulty.kv), {
    deadlineMilliseconds: 10,
  });
  // The start does not wait for a database that is away.
  await checkLayoutOf(database);
  assert.equal(await database.find(SESSION), undefined);
});

test.inMemory("the first reads take no longer for the check, and later ones are not checked", async ({ kv }) => {
  await checkLayout(kv);
  const counting = new CountingKv(kv);
  const database = new Database(checkedKv(counting.kv));
  const cost = async () => {
    const { trips, operations } = await counting.measure(() =>
      database.get(SESSION)
    );
    return { trips, operations };
  };
  assert.deepEqual(await cost(), { trips: 1, operations: 2 });
  assert.deepEqual(await cost(), { trips: 1, operations: 1 });
});

Deno.test("a restore wants the layout that the server has", () => {
  assert.equal(RESTORED, LAYOUT);
});
