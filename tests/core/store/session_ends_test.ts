import assert from "node:assert/strict";
import { Database } from "../../../src/core/kv/database.ts";
import { replyStore } from "../../../src/core/store/replies.ts";
import { sessionStore } from "../../../src/core/store/sessions.ts";
import { telemetry } from "../../../src/core/telemetry/current.ts";
import type { EndedSession } from "../../../src/core/telemetry/telemetry.ts";
import { startCollecting } from "../../kit/collecting.ts";
import { test } from "../../kit/databases.ts";
import { FakeTime } from "../../kit/fake_time.ts";

const SESSION = {
  binding: "ada",
  grantId: "g",
  revision: "2025-11-25",
  clientInfo: { name: "c", version: "1" },
  capabilities: {},
} as const;

/** Collects the ends of sessions that a process reports. */
async function collect(kv: Deno.Kv) {
  const collecting = await startCollecting();
  const told: EndedSession[] = [];
  telemetry!.reportSession = (ended) => void told.push(ended);
  const database = new Database(kv);
  const sessions = sessionStore(database);
  return {
    told,
    sessions,
    async endAll() {
      const { write, report } = await sessions.closeAllOf(
        "ada",
        new Set(["g"]),
      );
      await database.commit(write);
      report();
    },
    [Symbol.dispose]: () => collecting[Symbol.dispose](),
  };
}

test.onDatabases("sessionStore tells how long a session was, and who ended it, once", async ({ kv, other: otherKv }) => {
  using time = new FakeTime();
  using one = await collect(kv);
  const { told, sessions, endAll } = one;
  const id = await sessions.save(SESSION);
  await sessionStore(new Database(otherKv)).save(SESSION);
  time.tick(90);
  assert.equal(await sessions.close(id, "ada"), true);
  assert.equal(await sessions.close(id, "ada"), false);
  time.tick(10);
  await endAll();
  await endAll();
  const { revision } = SESSION;
  assert.deepEqual(told, [
    { revision, outcome: "ok", milliseconds: 90_000 },
    { revision, outcome: "stopped", milliseconds: 100_000 },
  ]);
});

test.inMemory("forgetAllOf() deletes the questions of sessions before the sessions by which they are found", async ({ kv }) => {
  const database = new Database(kv);
  // Of a process that dies at once.
  database.background = () => {};
  const sessions = sessionStore(database);
  const id = await sessions.save(SESSION);
  await replyStore(database).expect(id, "private");
  await sessions.forgetAllOf(SESSION.binding);
  assert.deepEqual(await database.list(["reply"]), []);
});

test.onDatabases("closeAllOf() tells of more sessions than one commit takes", async ({ kv }) => {
  using one = await collect(kv);
  const { told, sessions, endAll } = one;
  await Promise.all(Array.from({ length: 201 }, () => sessions.save(SESSION)));
  await endAll();
  assert.equal(told.length, 201);
});
