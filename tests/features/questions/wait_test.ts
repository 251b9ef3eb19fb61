import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { StorageError } from "../../../src/core/errors.ts";
import { replyKey } from "../../../src/core/kv/keys.ts";
import { type Poll, waitFor } from "../../../src/core/kv/polls.ts";
import { test } from "../../kit/databases.ts";
import { countedSignal } from "../../kit/counted_signal.ts";
import { kvWith } from "../../kit/kv.ts";

const KEY = replyKey("a");
const never = new AbortController().signal;

test.onDatabases("waitFor() gives what is there already", async ({ kv }) => {
  await kv.set(KEY, 1);
  assert.equal(await waitFor(new Database(kv), KEY, (n) => n === 1, never), 1);
});

test.onDatabases("waitFor() hears what another handle writes", async ({ kv, other }) => {
  const found = waitFor<number>(
    new Database(kv),
    KEY,
    (n) => n !== undefined && n > 1,
    never,
  );
  await other.set(KEY, 1);
  await other.set(KEY, 2);
  assert.equal(await found, 2);
});

test.onDatabases("waitFor() hears that a key is gone", async ({ kv, other }) => {
  await kv.set(KEY, 1);
  const found = waitFor(new Database(kv), KEY, (n) => n === undefined, never);
  await other.delete(KEY);
  assert.equal(await found, undefined);
});

test.onDatabases("waitFor() ends with the signal's reason", async ({ kv }) => {
  const abort = new AbortController();
  const found = waitFor(new Database(kv), KEY, () => false, abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(found, /enough/);
  await assert.rejects(
    waitFor(new Database(kv), KEY, () => true, abort.signal),
    /enough/,
  );
});

Deno.test("waitFor() goes on while the database does not answer, and fails for what is no fault of it", async () => {
  const kv = await Deno.openKv(":memory:");
  await kv.set(KEY, 1);
  let failures = 0;
  const away = (times: number, error: Error) =>
    kvWith(kv, {
      watch: () => new ReadableStream(),
      getMany: (keys: Deno.KvKey[]) =>
        times-- > 0 ? Promise.reject(error) : kv.getMany(keys),
    });
  const waitOn = (kv: Deno.Kv) =>
    waitFor(new Database(kv), KEY, (n) => n === 1, never, {
      onFailure: () => failures++,
    });
  // Each read is tried three times.
  assert.equal(await waitOn(away(6, new Error("connection reset"))), 1);
  assert.equal(failures, 2);
  const ours = new TypeError("Key too large for read");
  await assert.rejects(waitOn(away(1, ours)), ours);
  kv.close();
});

Deno.test("waitFor() need not read to hear a write of its own handle", async () => {
  const kv = await Deno.openKv(":memory:");
  const nothing = { key: KEY, value: null, versionstamp: null };
  const deaf = kvWith(kv, { getMany: () => Promise.resolve([nothing]) });
  const found = waitFor(new Database(deaf), KEY, (n) => n === 1, never);
  await kv.set(KEY, 1);
  assert.equal(await found, 1);
  kv.close();
});

/** Makes a database without watches: a test provides the results of polls. */
function polled() {
  const stop = () => Promise.resolve();
  const place = { found: {} as Poll<unknown>, stopped: 0 };
  const database = {
    watch: () => stop,
    poll<T>(_: Deno.KvKey, poll: Poll<T>) {
      place.found = poll as Poll<unknown>;
      return () => Promise.resolve(void place.stopped++);
    },
  };
  return { place, database };
}

Deno.test("waitFor() tells of a database that does not answer, and goes on", async () => {
  const { place, database } = polled();
  const failures: unknown[] = [];
  const found = waitFor(database, KEY, (n) => n === 1, never, {
    onFailure: (error) => failures.push(error),
  });
  const failure = new StorageError();
  place.found.onFailure!(failure);
  place.found.onValue(1);
  assert.equal(await found, 1);
  assert.deepEqual(failures, [failure]);
});

Deno.test("waitFor() ends with any other fault, and tells no one", async () => {
  const { place, database } = polled();
  const failures: unknown[] = [];
  const found = waitFor(database, KEY, () => true, never, {
    onFailure: (error) => failures.push(error),
  });
  place.found.onFailure!(new Error("no"));
  await assert.rejects(found, /no/);
  assert.deepEqual([failures, place.stopped], [[], 1]);
});

Deno.test("waitFor() leaves nothing on the signal", async () => {
  const { place, database } = polled();
  const { signal, listeners } = countedSignal();
  const found = waitFor(database, KEY, () => true, signal);
  assert.equal(listeners(), 1);
  place.found.onValue(1);
  await found;
  assert.equal(listeners(), 0);
});
