import assert from "node:assert/strict";
import { Database } from "../../src/store/database.ts";
import { sessionStore } from "../../src/store/sessions.ts";
import { telemetry } from "../../src/telemetry/current.ts";
import type { EndedSession } from "../../src/telemetry/telemetry.ts";
import { startCollecting } from "../telemetry/collecting.ts";
import { testOnDatabases } from "./databases.ts";
import { FakeTime } from "./fake_time.ts";

const SESSION = {
  binding: "ada",
  grantId: "g",
  revision: "2025-11-25",
  clientInfo: { name: "c", version: "1" },
  capabilities: {},
} as const;

/** Makes a process with sessions. */
function processOn(kv: Deno.Kv) {
  const database = new Database(kv);
  const sessions = sessionStore(database);
  return {
    ...sessions,
    database,
    /**
     * Lists the sessions of the grant now, and gives a function that ends them.
     */
    async beginToEnd(): Promise<() => Promise<void>> {
      const { write, tell } = await sessions.endAllOf("ada", "g");
      return async () => {
        await database.commit(write);
        tell();
        await database.idle();
      };
    },
  };
}

/** Tests the telemetry of two processes. */
function testTold(
  name: string,
  run: (
    one: ReturnType<typeof processOn>,
    other: ReturnType<typeof processOn>,
    told: EndedSession[],
  ) => Promise<void>,
): void {
  testOnDatabases(name, async (kv, otherKv) => {
    using _ = await startCollecting();
    const told: EndedSession[] = [];
    telemetry!.tellSession = (ended) => void told.push(ended);
    const processes = [processOn(kv), processOn(otherKv)] as const;
    await run(...processes, told);
    for (const { database } of processes) await database.idle();
  });
}

testTold(
  "end() tells how long a session was, and who ended it",
  async (one, other, told) => {
    using time = new FakeTime();
    const id = await one.save(SESSION);
    await other.save(SESSION);
    time.tick(90);
    assert(await other.end(id, "ada"));
    await other.database.idle();
    time.tick(10);
    await (await one.beginToEnd())();
    const { revision } = SESSION;
    assert.deepEqual(told, [
      { revision, outcome: "ok", milliseconds: 90_000 },
      { revision, outcome: "stopped", milliseconds: 100_000 },
    ]);
  },
);

testTold(
  "a session that two processes end with its grant is told once",
  async (one, other, told) => {
    await one.save(SESSION);
    const ends = [await one.beginToEnd(), await other.beginToEnd()];
    await Promise.all(ends.map((end) => end()));
    assert.deepEqual(told.map(({ outcome }) => outcome), ["stopped"]);
  },
);

testTold(
  "a session that its client ends while its grant ends is told once",
  async (one, other, told) => {
    const id = await one.save(SESSION);
    const end = await one.beginToEnd();
    assert(await other.end(id, "ada"));
    await other.database.idle();
    await end();
    assert.deepEqual(told.map(({ outcome }) => outcome), ["ok"]);
    assert.equal(await other.end(id, "ada"), false);
    await other.database.idle();
    assert.equal(told.length, 1);
  },
);

testTold(
  "endAllOf() tells of more sessions than one commit takes",
  async (one, other, told) => {
    await Promise.all(Array.from({ length: 201 }, () => one.save(SESSION)));
    await (await other.beginToEnd())();
    assert.equal(told.length, 201);
  },
);

testOnDatabases(
  "that the end of a session was told is known for an hour",
  async (kv) => {
    using _ = await startCollecting();
    using _time = new FakeTime();
    const { database, save, end } = processOn(kv);
    await end(await save(SESSION), "ada");
    await database.idle();
    const told = await Array.fromAsync(
      kv.list<{ expiresAt: number }>({ prefix: ["session-end"] }),
    );
    assert.deepEqual(
      told.map(({ value }) => value.expiresAt - database.now()),
      [60 * 60],
    );
  },
);
