import assert from "node:assert/strict";
import { Database } from "../../src/store/database.ts";
import { waitFor } from "../../src/store/wait.ts";
import { testOnDatabases } from "./databases.ts";

const KEY = ["a"];
const never = new AbortController().signal;

testOnDatabases("waitFor() gives what is there already", async (kv) => {
  await kv.set(KEY, 1);
  assert.equal(await waitFor(new Database(kv), KEY, (n) => n === 1, never), 1);
});

testOnDatabases(
  "waitFor() hears what another handle writes",
  async (kv, other) => {
    const found = waitFor<number>(
      new Database(kv),
      KEY,
      (n) => n !== undefined && n > 1,
      never,
    );
    await other.set(KEY, 1);
    await other.set(KEY, 2);
    assert.equal(await found, 2);
  },
);

testOnDatabases("waitFor() hears that a key is gone", async (kv, other) => {
  await kv.set(KEY, 1);
  const found = waitFor(new Database(kv), KEY, (n) => n === undefined, never);
  await other.delete(KEY);
  assert.equal(await found, undefined);
});

testOnDatabases("waitFor() ends with the signal's reason", async (kv) => {
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
    new Proxy(kv, {
      get(kv, name) {
        if (name === "watch") return () => new ReadableStream();
        if (name === "getMany" && times-- > 0) {
          return () => Promise.reject(error);
        }
        return (kv[name as keyof Deno.Kv] as () => unknown).bind(kv);
      },
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
  const deaf = new Proxy(kv, {
    get: (kv, name) =>
      name === "getMany"
        ? () => Promise.resolve([nothing])
        : (kv[name as keyof Deno.Kv] as () => unknown).bind(kv),
  });
  const found = waitFor(new Database(deaf), KEY, (n) => n === 1, never);
  await kv.set(KEY, 1);
  assert.equal(await found, 1);
  kv.close();
});
