import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { type Change, changeStore } from "../../../src/core/store/changes.ts";
import { changeHeadKey } from "../../../src/core/kv/keys.ts";
import { until } from "../../kit/wait.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { fiftyAtOnce, test } from "../../kit/databases.ts";
import { kvWith } from "../../kit/kv.ts";

/** Opens a store whose failures end the test. */
function open(kv: Deno.Kv) {
  return openOn(new Database(kv));
}

function openOn(database: Database) {
  return changeStore(database, (error) => {
    throw error;
  });
}

/** Collects the changes that a store hears of. */
async function listen(store: ReturnType<typeof open>) {
  const heard: string[] = [];
  const leave = await store.listen((change) => heard.push(nameOf(change)));
  return { heard, leave };
}

function nameOf(change: Change): string {
  return change.kind === "list" ? change.list : change.uri;
}

test.onDatabases("listen() hears of changes made anywhere, in their order", async ({ kv, other }) => {
  const here = open(kv);
  const there = open(other);
  const { heard } = await listen(here);
  await there.listChanged("tools");
  await here.resourceUpdated("a://1");
  await there.resourceUpdated("a://2");
  await until(() => heard.length === 3);
  assert.deepEqual(heard, ["tools", "a://1", "a://2"]);
  await here.close();
});

test.onDatabases("listen() hears nothing from before it began", async ({ kv }) => {
  const store = open(kv);
  await store.resourceUpdated("a://old");
  const { heard } = await listen(store);
  await store.resourceUpdated("a://new");
  await until(() => heard.length > 0);
  assert.deepEqual(heard, ["a://new"]);
  await store.close();
});

test.onDatabases("listen() loses none of fifty simultaneous changes", async ({ kv, other }) => {
  const store = open(kv);
  const { heard } = await listen(store);
  await fiftyAtOnce(
    kv,
    other,
    openOn,
    (store, n) => store.resourceUpdated(`a://${n}`),
  );
  await until(() => heard.length === 50);
  assert.equal(new Set(heard).size, 50);
  await store.close();
});

test.onDatabases("listen() serves several, until each leaves", async ({ kv }) => {
  const store = open(kv);
  const first = await listen(store);
  const second = await listen(store);
  await store.listChanged("tools");
  await until(() => first.heard.length + second.heard.length === 2);
  first.leave();
  await store.listChanged("prompts");
  await until(() => second.heard.length === 2);
  assert.deepEqual(first.heard, ["tools"]);
  second.leave();
  const third = await listen(store);
  await store.listChanged("resources");
  await until(() => third.heard.length === 1);
  assert.deepEqual(third.heard, ["resources"]);
  assert.deepEqual(second.heard, ["tools", "prompts"]);
  await store.close();
});

/**
 * Makes a database whose reads of the head can be held back or made to fail.
 */
function hold(kv: Deno.Kv) {
  const gate: { before: () => Promise<void> } = {
    before: () => Promise.resolve(),
  };
  const held = kvWith(kv, {
    async get(key: Deno.KvKey) {
      if (key[0] === changeHeadKey()[0]) await gate.before();
      return await kv.get(key);
    },
  });
  return { held, gate };
}

test.onDatabases("a second listen() waits until both hear", async ({ kv, other }) => {
  const { held, gate } = hold(kv);
  const store = open(held);
  const opening = Promise.withResolvers<void>();
  gate.before = () => opening.promise;
  const first = listen(store);
  let isListening = false;
  const second = listen(store).then((listening) => {
    isListening = true;
    return listening;
  });
  await open(other).listChanged("tools");
  assert.equal(isListening, false);
  opening.resolve();
  await Promise.all([first, second]);
  await open(other).listChanged("prompts");
  const { heard } = await second;
  await until(() => heard.length > 0);
  assert.deepEqual(heard, ["prompts"]);
  await store.close();
});

test.onDatabases("listen() works again after the database was away", async ({ kv }) => {
  const { held, gate } = hold(kv);
  const store = open(held);
  gate.before = () => Promise.reject(new Error("away"));
  await assert.rejects(listen(store));
  gate.before = () => Promise.resolve();
  const { heard } = await listen(store);
  await store.listChanged("tools");
  await until(() => heard.length > 0);
  await store.close();
});

test.onDatabases("a change is not skipped when the database is locked", async ({ kv }) => {
  let locks = 3;
  const store = open(
    kvWith(kv, {
      get(key: Deno.KvKey) {
        if (key[0] === "change" && locks-- > 0) {
          throw new TypeError("database is locked");
        }
        return kv.get(key);
      },
    }),
  );
  const { heard } = await listen(store);
  for (const list of ["tools", "prompts"] as const) {
    await store.listChanged(list);
  }
  await until(() => heard.length === 2);
  assert.deepEqual(heard, ["tools", "prompts"]);
  await store.close();
});

test.onDatabases("a change that has expired is passed over", async ({ kv, other }) => {
  const store = open(kv);
  const { heard } = await listen(store);
  await other.set(changeHeadKey(), 1);
  await store.listChanged("tools");
  await until(() => heard.length > 0);
  assert.deepEqual(heard, ["tools"]);
  await store.close();
});

test.onDatabases("close() ends the following, also of those who left", async ({ kv }) => {
  const store = open(kv);
  (await listen(store)).leave();
  await listen(store);
  await store.close();
});

Deno.test("listen() goes on after a change that could not be read, and misses none", async () => {
  using _timers = new HastyTimers([1000]);
  using kv = await Deno.openKv(":memory:");
  let failures = 3;
  const failing = kvWith(kv, {
    async get(key: Deno.KvKey) {
      if (key[0] === "change" && failures-- > 0) throw new Error("away");
      return await kv.get(key);
    },
  });
  const told: unknown[] = [];
  const database = new Database(failing);
  const store = changeStore(database, (error) => told.push(error));
  const { heard } = await listen(store);
  await store.listChanged("tools");
  await store.listChanged("prompts");
  await until(() => heard.length === 2);
  assert.deepEqual(heard, ["tools", "prompts"]);
  assert.equal(told.length, 1);
  await store.close();
});

Deno.test("close() waits for what stopped before it too", async () => {
  using kv = await Deno.openKv(":memory:");
  const cancelled = Promise.withResolvers<void>();
  const database = new Database(kv);
  const watch = database.watch.bind(database);
  database.watch = (key, onValue) => {
    const stop = watch(key, onValue);
    return async () => {
      await cancelled.promise;
      await stop();
    };
  };
  const store = openOn(database);
  const { leave } = await listen(store);
  leave();
  let isClosed = false;
  const closing = store.close().then(() => isClosed = true);
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(isClosed, false);
  cancelled.resolve();
  await closing;
});

Deno.test("listen() looks every tenth of a second where no watch tells of a change", async () => {
  using kv = await Deno.openKv(":memory:");
  const database = new Database(kv);
  const slowest: unknown[] = [];
  const poll = database.poll.bind(database);
  database.poll = (key, options) => {
    slowest.push(options.slowestMilliseconds);
    return poll(key, options);
  };
  const store = openOn(database);
  const { leave } = await listen(store);
  await until(() => slowest.length > 0);
  assert.deepEqual(slowest, [100]);
  leave();
  await store.close();
});
