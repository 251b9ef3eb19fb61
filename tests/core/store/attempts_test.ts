import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { silentLogger } from "../../kit/log.ts";
import {
  addAttempt,
  type AttemptLog,
  attemptLog,
  type ConnectAttempt,
  MAX_ATTEMPTS,
} from "../../../src/core/store/attempts.ts";
import { until } from "../../kit/wait.ts";
import { test } from "../../kit/databases.ts";
import { losing, overtaken } from "../../kit/overtaken_kv.ts";
import { HastyTimers } from "../../kit/timers.ts";
import { atomicWith, kvWith } from "../../kit/kv.ts";

const NOW = 1_800_000_000;
const FAILED: ConnectAttempt = {
  at: NOW,
  step: "GET /authorize",
  client: "their-app",
  failure: "invalid_scope: not one of ours",
  isStranger: false,
  count: 1,
};

function addAll(attempts: readonly ConnectAttempt[]): ConnectAttempt[] {
  return attempts.reduce(addAttempt, []);
}

function range(length: number): number[] {
  return Array.from({ length }, (_, n) => n);
}

Deno.test("addAttempt() counts what it has seen before, newest first", () => {
  const list = addAll([
    FAILED,
    { ...FAILED, client: "another" },
    { ...FAILED, at: NOW + 5 },
  ]);
  assert.deepEqual(list, [
    { ...FAILED, at: NOW + 5, count: 2 },
    { ...FAILED, client: "another" },
  ]);
});

Deno.test("addAttempt() lists failures first and strangers last", () => {
  const list = addAll([
    FAILED,
    { ...FAILED, at: NOW + 1, failure: undefined },
    { ...FAILED, at: NOW + 2, isStranger: true },
  ]);
  assert.deepEqual(
    list.map(({ failure, isStranger }) => [failure !== undefined, isStranger]),
    [[true, false], [false, false], [true, true]],
  );
});

Deno.test("addAttempt() lets no junk and no connection push out a failure", () => {
  const list = addAll([
    FAILED,
    ...range(1000).map((n) => ({
      ...FAILED,
      at: NOW + n,
      client: `junk-${n}`,
      failure: `code-${n}: junk`,
      isStranger: true,
    })),
    ...range(1000).map((n) => ({
      ...FAILED,
      at: NOW + n,
      client: `app-${n}`,
      failure: undefined,
    })),
  ]);
  assert.deepEqual(list[0], FAILED);
  assert(list.length <= MAX_ATTEMPTS);
});

Deno.test("addAttempt() counts strangers' failures by their code, whatever they are called", () => {
  const list = addAll(
    range(1000).map((n) => ({
      ...FAILED,
      client: `junk-${n}`,
      failure: `invalid_client: no client ${n}`,
      isStranger: true,
    })),
  );
  assert.equal(list.length, 1);
  assert.equal(list[0].count, 1000);
});

Deno.test("addAttempt() lets no frequent cause push out a rare one", () => {
  const rare = { ...FAILED, failure: "invalid_redirect_uri: not registered" };
  const list = addAll([
    rare,
    ...range(1000).map((n) => ({ ...FAILED, at: NOW + n, client: `app-${n}` })),
  ]);
  assert(list.some(({ failure }) => failure === rare.failure));
  assert.equal(list[0].client, "app-999");
});

Deno.test("addAttempt() keeps some of each kind, and failures above all", () => {
  const list = addAll(
    range(100).flatMap((n) => [
      { ...FAILED, client: `${n}` },
      { ...FAILED, client: `${n}`, failure: undefined },
      { ...FAILED, failure: `code-${n}: junk`, isStranger: true },
    ]),
  );
  const known = list.filter(({ isStranger }) => !isStranger);
  const failed = known.filter(({ failure }) => failure !== undefined);
  const kinds = [known.length - failed.length, list.length - known.length];
  assert.equal(list.length, MAX_ATTEMPTS);
  for (const length of kinds) assert(length > 0 && length < failed.length);
});

Deno.test("addAttempt() cuts what a client says of itself", () => {
  const long = "x".repeat(1000);
  const [{ client, failure }] = addAttempt([], {
    ...FAILED,
    client: long,
    failure: long,
  });
  assert.deepEqual([client?.length, failure?.length], [100, 300]);
});

Deno.test("addAttempt() keeps steps apart", () => {
  assert.equal(addAll([FAILED, { ...FAILED, step: "POST /token" }]).length, 2);
});

/** Makes a handle that counts commits. */
function counted(kv: Deno.Kv): { kv: Deno.Kv; commits: number } {
  const counter = { kv, commits: 0 };
  counter.kv = kvWith(kv, {
    atomic: atomicWith(kv, (commit) => {
      counter.commits++;
      return commit();
    }),
  });
  return counter;
}

test.inMemory("note() is written at most once a second, however many there are", async ({ kv }) => {
  const counter = counted(kv);
  const attempts = attemptLog(new Database(counter.kv), silentLogger);
  for (const n of range(1000)) {
    attempts.note({ step: "POST /token", client: `${n}`, isStranger: true });
  }
  assert.equal(counter.commits, 0);
  const [{ count }] = await attempts.list();
  assert.equal(count, 1000);
  assert.equal(counter.commits, 1);
});

test.inMemory("close() writes what is noted, next to another process's notes", async ({ kv }) => {
  const stores: AttemptLog[] = ["a", "b", "c"].map((client) => {
    const attempts = attemptLog(new Database(kv), silentLogger);
    attempts.note({ step: "s", client, isStranger: false });
    return attempts;
  });
  await Promise.all(stores.map((attempts) => attempts.close()));
  const clients = (await stores[0].list()).map(({ client }) => client);
  assert.deepEqual(clients.sort(), ["a", "b", "c"]);
});

test.inMemory("a full list fits a value, whatever strangers send", async ({ kv }) => {
  const attempts = attemptLog(new Database(kv), silentLogger);
  const endless = "\u{1F600}".repeat(10_000);
  for (const n of range(200)) {
    for (const isStranger of [true, false]) {
      for (const failure of [undefined, `${n}: ${endless}`]) {
        const client = n + endless;
        attempts.note({ step: `${n}`, client, failure, isStranger });
      }
    }
  }
  assert.equal((await attempts.list()).length, MAX_ATTEMPTS);
});

const NOTED = { step: "POST /token", client: "app", isStranger: false };

test.inMemory("note() writes by itself", async ({ kv }) => {
  {
    using _timers = new HastyTimers();
    attemptLog(new Database(kv), silentLogger).note(NOTED);
  }
  const others = attemptLog(new Database(kv), silentLogger);
  await until(async () => (await others.list()).length === 1);
});

test.inMemory("list() writes each attempt once, and nothing when there is none", async ({ kv }) => {
  const counter = counted(kv);
  const attempts = attemptLog(new Database(counter.kv), silentLogger);
  await attempts.list();
  assert.equal(counter.commits, 0);
  attempts.note(NOTED);
  await attempts.list();
  attempts.note({ ...NOTED, client: "other" });
  const counts = (await attempts.list()).map(({ count }) => count);
  assert.deepEqual(counts, [1, 1]);
});

test.inMemory("an attempt that is noted while others are written is written next", async ({ kv }) => {
  const slow = overtaken(kv, () => {
    attempts.note({ ...NOTED, client: "late" });
    return Promise.resolve();
  });
  const attempts = attemptLog(new Database(slow), silentLogger);
  attempts.note(NOTED);
  await attempts.list();
  const clients = (await attempts.list()).map(({ client }) => client);
  assert.deepEqual(clients.sort(), ["app", "late"]);
});

test.inMemory("attempts that others outrun are tried again, not for ever, and kept", async ({ kv }) => {
  const place = losing(kv);
  const attempts = attemptLog(new Database(place.kv), silentLogger);
  attempts.note(NOTED);
  assert.deepEqual(await attempts.list(), []);
  const tried = place.commits;
  assert(tried > 1);
  await attempts.close();
  assert(place.commits > tried);
});

test.inMemory("attempts that are noted while others are written are counted once", async ({ kv }) => {
  const slow = overtaken(kv, () => {
    for (let n = 0; n < 8; n++) attempts.note({ ...NOTED, client: "C" });
    return Promise.resolve();
  });
  const attempts = attemptLog(new Database(slow), silentLogger);
  attempts.note({ ...NOTED, client: "A" });
  for (let n = 0; n < 3; n++) await attempts.list();
  const counts = (await attempts.list())
    .map(({ client, count }) => `${client}:${count}`);
  assert.deepEqual(counts.sort(), ["A:1", "C:8"]);
  await attempts.close();
});
