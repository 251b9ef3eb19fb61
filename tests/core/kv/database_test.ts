import assert from "node:assert/strict";
import { StorageError } from "../../../src/core/errors.ts";
import { now } from "../../../src/core/clock.ts";
import {
  absent,
  Database,
  type Entry,
  MAX_CHECKS,
  type Transaction,
} from "../../../src/core/kv/database.ts";
import { KvUsageError } from "../../../src/core/kv/kv_error.ts";
import { untilUnlocked } from "../../../src/core/kv/operations.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { losing } from "../../kit/overtaken_kv.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { FakeTime } from "../../kit/fake_time.ts";
import { until } from "../../kit/wait.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";
import { StalledKv } from "../../kit/stalled_kv.ts";

const KEY = ["a"];

interface Counter {
  n: number;
  expiresAt: number;
}

/** Makes a handle that counts its commits, and calls a function after each. */
function afterCommits(
  kv: Deno.Kv,
  after: (
    commit: Deno.AtomicOperation["commit"],
  ) => ReturnType<Deno.AtomicOperation["commit"]>,
): { kv: Deno.Kv; commits: number } {
  const counted = {
    commits: 0,
    kv: kvWith(kv, {
      atomic: atomicWith(kv, async (commit) => {
        counted.commits++;
        await commit();
        return await after(commit);
      }),
    }),
  };
  return counted;
}

test.onDatabases("find() gives a live record and its version", async ({ kv }) => {
  const database = new Database(kv);
  assert.equal(await database.find(KEY), undefined);
  const record = { n: 1, expiresAt: now() + 60 };
  const versionstamp = await database.commit((transaction) =>
    transaction.set(KEY, record)
  );
  const found = await database.find<Counter>(KEY);
  assert.equal(found?.value.n, 1);
  assert.equal(found?.versionstamp, versionstamp);
});

test.onDatabases("find() ends with the second that expiresAt names", async ({ kv }) => {
  let milliseconds = 1_000_000_500;
  const database = new Database(kv, { clock: () => milliseconds });
  await database.commit((transaction) =>
    transaction.set(KEY, { expiresAt: 1_000_060 })
  );
  milliseconds = 1_000_059_999;
  assert(await database.find(KEY));
  milliseconds = 1_000_060_000;
  assert.equal(await database.find(KEY), undefined);
  const entry = await database.get(KEY);
  assert.equal(entry.value, undefined);
  assert(entry.versionstamp, "a check must still name what is there");
});

test.onDatabases("getMany() and list() read more than one read takes", async ({ kv }) => {
  const database = new Database(kv);
  const keys = Array.from({ length: 25 }, (_, n) => ["many", n]);
  await database.commit((transaction) => {
    for (const key of keys.slice(1)) {
      transaction.set(key, { n: key[1], expiresAt: now() + 60 });
    }
    transaction.set(keys[0], { expiresAt: now() - 1 });
  });
  const entries = await database.getMany<Counter[]>(keys);
  assert.deepEqual(entries.map(({ value }) => value?.n), [
    undefined,
    ...keys.slice(1).map(([, n]) => n),
  ]);
  const listed = await database.list<Counter>(["many"]);
  assert.deepEqual(
    listed.map(({ key }) => key[1]),
    keys.slice(1).map((k) => k[1]),
  );
});

test.onDatabases("commit() lets one of fifty checks through", async ({ kv, other }) => {
  const won = await fiftyAtOnce(
    kv,
    other,
    (database) => database,
    (database, n) =>
      database.commit((transaction) =>
        transaction.check({ key: KEY, versionstamp: null })
          .set(KEY, { n, expiresAt: now() + 60 })
      ),
  );
  assert.equal(won.filter(Boolean).length, 1);
  const found = await new Database(kv).find<Counter>(KEY);
  assert.equal(found?.value.n, won.findIndex(Boolean));
});

test.inMemory("commit() recognizes itself when a remote client has repeated it", async ({ kv }) => {
  const repeating = afterCommits(kv, (commit) => commit());
  const database = new Database(repeating.kv);
  const versionstamp = await database.commit((transaction) =>
    transaction.check({ key: KEY, versionstamp: null })
      .set(KEY, { expiresAt: now() + 60 })
  );
  assert.equal(versionstamp, (await database.get(KEY)).versionstamp);
  assert.equal(repeating.commits, 1);
});

test.inMemory("commit() that lost its answer has happened once", async ({ kv }) => {
  let lost = 0;
  const losing = afterCommits(kv, () => {
    if (lost++ === 0) throw new Error("connection reset");
    return Promise.resolve({ ok: true, versionstamp: "" });
  });
  const database = new Database(losing.kv);
  assert(
    await database.commit((transaction) =>
      transaction.check({ key: KEY, versionstamp: null })
        .set(KEY, { expiresAt: now() + 60 })
    ),
  );
  // And one that shows that it cannot happen any more.
  assert.equal(losing.commits, 2);
});

test.inMemory("commit() does not take another's record for its own", async ({ kv }) => {
  const database = new Database(kv);
  const write = () =>
    database.commit((transaction) =>
      transaction.check({ key: KEY, versionstamp: null })
        .set(KEY, { expiresAt: now() + 60 })
    );
  assert(await write());
  assert.equal(await write(), undefined);
});

test.inMemory("an operation that fails is tried again, then a StorageError that keeps the cause", async ({ kv }) => {
  const cause = new TypeError("connection refused");
  let tries = 0;
  const database = new Database(kvWith(kv, {
    get: () => {
      tries++;
      return Promise.reject(cause);
    },
  }));
  await assert.rejects(
    database.get(KEY),
    (error) =>
      error instanceof StorageError && error.status === 503 &&
      error.cause === cause,
  );
  assert(tries > 1);
});

test.inMemory("what is no fault of the database is no StorageError", async ({ kv }) => {
  const database = new Database(kv);
  await assert.rejects(
    database.get(["x".repeat(3000)]),
    (error) => !(error instanceof StorageError),
  );
  const text = "x".repeat(70_000);
  const record = { text, expiresAt: now() + 60 };
  await assert.rejects(
    database.commit((transaction) => transaction.set(KEY, record)),
    (error) => !(error instanceof StorageError),
  );
});

/** Makes a handle whose reads hang until they are released. */
function hanging(kv: Deno.Kv) {
  const state = { isAway: true, begun: 0, ended: 0, release: () => {} };
  const back = new Promise<void>((resolve) => {
    state.release = () => {
      state.isAway = false;
      resolve();
    };
  });
  const handle = kvWith(kv, {
    get: async (key: Deno.KvKey) => {
      state.begun++;
      if (state.isAway) await back;
      const entry = await kv.get(key);
      state.ended++;
      return entry;
    },
  });
  return { state, handle };
}

test.inMemory("an operation that hangs is a 503 after its deadline, and the next at once, until the database is back", async ({ kv }) => {
  const { state, handle } = hanging(kv);
  const database = new Database(handle);
  {
    using _timers = new HastyTimers();
    await assert.rejects(database.get(KEY), StorageError);
  }
  const begun = state.begun;
  await assert.rejects(database.get(KEY), StorageError);
  assert.equal(state.begun, begun, "nothing is sent to a database that hangs");
  state.release();
  await until(() => state.ended === begun);
  assert.equal((await database.get(KEY)).value, undefined);
});

test.inMemory("few operations hang side by side, and what gave up in the queue is not carried out", async ({ kv }) => {
  const { state, handle } = hanging(kv);
  const database = new Database(handle);
  const timers = new HastyTimers();
  const all = await Promise.allSettled(
    Array.from({ length: 500 }, () => database.get(KEY)),
  );
  timers[Symbol.dispose]();
  for (const { status } of all) assert.equal(status, "rejected");
  const { begun } = state;
  assert(begun < 200, `${begun} of 500 were sent`);
  state.release();
  await until(() => state.ended === begun);
  await database.get(KEY);
  assert.equal(state.begun, begun + 1);
});

Deno.test("untilUnlocked() tries again while the database is locked", async () => {
  let tries = 0;
  const value = await untilUnlocked(() => {
    if (++tries < 5) throw new TypeError("database is locked");
    return Promise.resolve("here");
  });
  assert.deepEqual([value, tries], ["here", 5]);
});

test.inMemory("idle() waits for what goes on in the background, between its operations too", async ({ kv }) => {
  const database = new Database(kv);
  const gap = Promise.withResolvers<void>();
  database.background(async () => {
    await database.find(KEY);
    await gap.promise;
    const expiresAt = now() + 60;
    await database.commit((transaction) =>
      transaction.set(KEY, { n: 1, expiresAt })
    );
  });
  // A failure in the background is not reported.
  database.background(() => Promise.reject(new StorageError()));
  setTimeout(gap.resolve, 1);
  await database.idle();
  assert.equal((await kv.get<Counter>(KEY)).value?.n, 1);
});

test.inMemory("idle() waits for what begins in the background after an operation", async ({ kv }) => {
  const database = new Database(kv);
  let isOver = false;
  const asked = database.get(KEY).then(() =>
    database.background(async () => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      isOver = true;
    })
  );
  await database.idle();
  assert(isOver);
  await asked;
});

/** Makes a handle whose commits fail, with counts of its operations. */
function failingCommits(kv: Deno.Kv, failures: number, error: Error) {
  const asked = { commits: 0, reads: 0 };
  const handle = kvWith(kv, {
    getMany: (keys: Deno.KvKey[]) => {
      asked.reads++;
      return kv.getMany(keys);
    },
    atomic: atomicWith(
      kv,
      (commit) => ++asked.commits > failures ? commit() : Promise.reject(error),
    ),
  });
  return { asked, handle };
}

const write = (database: Database) =>
  database.commit((transaction) =>
    transaction.set(KEY, { expiresAt: now() + 60 })
  );

test.inMemory("commit() that fails at once is tried again a little later, once its first try can no longer happen", async ({ kv }) => {
  const away = new TypeError("connection refused");
  const twice = failingCommits(kv, 2, away);
  const version = await write(new Database(twice.handle));
  assert.equal(version, (await kv.get(KEY)).versionstamp);

  const always = failingCommits(kv, Infinity, away);
  const database = new Database(always.handle);
  await assert.rejects(write(database), StorageError);
  await database.idle();
});

test.inMemory("what a closed database is asked is tried once", async ({ kv }) => {
  for (const name of ["BadResource", "Interrupted"]) {
    const closed = Object.assign(new Error("closed"), { name });
    const { asked, handle } = failingCommits(kv, Infinity, closed);
    await assert.rejects(write(new Database(handle)), StorageError);
    assert.deepEqual(asked, { commits: 1, reads: 0 });
  }
});

test.inMemory("a record is collected a minute later at the earliest", async ({ kv }) => {
  const written: (number | undefined)[] = [];
  const database = new Database(
    kvWith(kv, {
      atomic() {
        const operation = kv.atomic();
        const set = operation.set.bind(operation);
        operation.set = (key, value, options) => {
          written.push(options?.expireIn);
          return set(key, value, options);
        };
        return operation;
      },
    }),
    { clock: () => 1_800_000_000_000 },
  );
  await database.commit((transaction) =>
    transaction.expire(KEY)
      .set(KEY, { expiresAt: database.now() + 61 })
  );
  for (const [index, seconds] of [60, 61].entries()) {
    const expireIn = written[index]!;
    // Up to an eighth later, so that not all are collected together.
    assert(seconds * 1000 <= expireIn && expireIn <= seconds * 1125);
  }
});

/** A handle that holds its n-th commit back until it is told to go on. */
function holding(kv: Deno.Kv, at = 1) {
  const held = Promise.withResolvers<void>();
  let commits = 0;
  const sent = {
    result: undefined as Promise<{ ok: boolean }> | undefined,
    goOn: () => (held.resolve(), sent.result),
    handle: kvWith(kv, {
      atomic: atomicWith(kv, (commit) => {
        if (++commits !== at) return commit();
        sent.result = held.promise.then(commit);
        return new Promise<never>(() => {});
      }),
    }),
  };
  return sent;
}

/** Tries again while the database does not answer in time. */
async function untilDone(operate: () => Promise<unknown>): Promise<void> {
  await until(() =>
    operate().then(() => true, (error) => {
      if (error instanceof StorageError) return false;
      throw error;
    })
  );
}

test.onDatabases("a commit that was given up, and sent again, is not carried out after what came later", async ({ kv }) => {
  const held = holding(kv);
  const database = new Database(held.handle, { deadlineMilliseconds: 20 });
  await untilDone(() => write(database));
  await untilDone(() =>
    database.commit((transaction) => transaction.delete(KEY))
  );
  assert.equal((await held.goOn())?.ok, false);
  assert.equal(await new Database(kv).find(KEY), undefined);
  await database.idle();
});

/** Counts one more; the first finds no record. */
function count(database: Database): Promise<number> {
  return database.change(KEY, (transaction, { value }: Entry<Counter>) => {
    const n = (value?.n ?? 0) + 1;
    transaction.set<Counter>(KEY, { n, expiresAt: now() + 60 });
    return n;
  });
}

test.onDatabases("change() of fifty at once loses none, the first of which finds no record", async ({ kv, other }) => {
  const counted = await fiftyAtOnce(kv, other, (database) => database, count);
  const numbers = Array.from({ length: 50 }, (_, index) => index + 1);
  assert.deepEqual(counted.toSorted((a, b) => a - b), numbers);
});

test.onDatabases("change() that was given up is not carried out when its record is absent once more", async ({ kv, other }) => {
  const held = holding(kv);
  const database = new Database(held.handle, { deadlineMilliseconds: 20 });
  await untilDone(() => count(database));
  await new Database(other).commit((transaction) => transaction.delete(KEY));
  assert.equal((await held.goOn())?.ok, false);
  assert.equal(await new Database(kv).find(KEY), undefined);
  await database.idle();
});

test.inMemory("change() gives its answer without a commit where it changes nothing, and rests on what it was given", async ({ kv }) => {
  const counted = losing(kv);
  const database = new Database(counted.kv);
  await new Database(kv).commit((transaction) =>
    transaction.set(KEY, { n: 7, expiresAt: now() + 60 })
  );
  const read = (_: unknown, { value }: Entry<Counter>) => value?.n;
  assert.equal(await database.change(KEY, read), 7);
  const given = { key: KEY, value: undefined, versionstamp: null };
  assert.equal(await database.change(KEY, read, given), undefined);
  assert.equal(counted.commits, 0);
  const stale = (transaction: Transaction, { value }: Entry<Counter>) => {
    transaction.set(KEY, { n: (value?.n ?? 0) + 1, expiresAt: now() + 60 });
    return value?.n;
  };
  assert.equal(await new Database(kv).change(KEY, stale, given), 7);
});

test.onDatabases("isGivenUp() is true of what was written although its commit was answered with 503, everywhere", async ({ kv, other }) => {
  const stalled = new StalledKv(kv);
  stalled.begin();
  const database = new Database(stalled.kv);
  {
    using _timers = new HastyTimers();
    await assert.rejects(write(database), StorageError);
  }
  await stalled.end();
  const found = (await new Database(other).find(KEY))!;
  await until(() => new Database(other).isGivenUp(found));
  const ours = new Database(kv);
  await write(ours);
  assert.equal(await ours.isGivenUp((await ours.find(KEY))!), false);
  await database.idle();
});

test.onDatabases("isGivenUp() is true everywhere although the database fails again as soon as it is back, and no one uses that process any more", async ({ kv, other }) => {
  using _timers = new HastyTimers([1000]);
  let commits = 0;
  const failing = kvWith(kv, {
    atomic: atomicWith(kv, async (commit) => {
      if (++commits === 1) {
        await commit();
        return await new Promise<never>(() => {});
      }
      if (commits <= 8) throw new Error("connection reset");
      return await commit();
    }),
  });
  const database = new Database(failing, { deadlineMilliseconds: 20 });
  await assert.rejects(write(database), StorageError);
  const reader = new Database(other);
  // A busy machine may carry the commit out only after it was given up.
  await until(async () => await reader.find(KEY) !== undefined);
  const found = (await reader.find(KEY))!;
  await until(() => reader.isGivenUp(found));
  await database.idle();
});

test.onDatabases("a record that was written in our future is told of, once in ten minutes", async ({ kv, other }) => {
  using time = new FakeTime();
  const told: number[] = [];
  const database = new Database(other, {
    onClockAhead: (seconds) => told.push(seconds),
  });
  for (const ahead of [9, 90, 91, 92]) {
    await write(new Database(kv, { clock: () => Date.now() + ahead * 1000 }));
    await database.get(KEY);
    if (ahead === 91) time.tick(600);
  }
  await write(database);
  await database.get(KEY);
  assert.deepEqual(told, [90, 92]);
});

test.onDatabases("expire() ends a record for processes whose clocks are behind, too", async ({ kv, other }) => {
  const database = new Database(kv);
  await write(database);
  await database.commit((transaction) => transaction.expire(KEY));
  const late = new Database(other, { clock: () => Date.now() - 600_000 });
  assert.equal(await late.find(KEY), undefined);
  assert.equal(await database.find(KEY), undefined);
});

test.onDatabases("commit() that its fence alone refused is sent again behind the next one", async ({ kv }) => {
  const held = Promise.withResolvers<void>();
  const tries = [
    async (commit: () => unknown) => {
      await held.promise;
      return await commit();
    },
    () => Promise.reject(new Error("connection reset")),
  ];
  const database = new Database(kvWith(kv, {
    atomic: atomicWith(
      kv,
      (commit) => (tries.shift() ?? commit)(commit) as never,
    ),
  }));
  const first = write(database);
  assert(
    await database.commit((transaction) =>
      transaction.set(["b"], { expiresAt: now() + 60 })
    ),
  );
  held.resolve();
  assert.equal(await first, (await kv.get(KEY)).versionstamp);
});

test.onDatabases("commit() takes nine checks besides that of its fence, as many as denokv does", async ({ kv }) => {
  const database = new Database(kv);
  const checking = (count: number) =>
    database.commit((transaction) => {
      for (let n = 0; n < count; n++) transaction.check(absent(["none", n]));
      transaction.set(KEY, { expiresAt: now() + 60 });
    });
  assert(await checking(MAX_CHECKS));
  await assert.rejects(checking(MAX_CHECKS + 1), KvUsageError);
});
