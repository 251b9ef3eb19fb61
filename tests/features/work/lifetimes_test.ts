/**
 * The lifetimes of records, as in `src/core/kv/keys.ts`.
 *
 * @module
 */
import assert from "node:assert/strict";
import { silentLogger } from "../../kit/log.ts";
import { accountSessionStore } from "../../../src/features/account_page/account_sessions.ts";
import { attemptLog } from "../../../src/core/store/attempts.ts";
import { cancellationStore } from "../../../src/core/store/cancellations.ts";
import { changeStore } from "../../../src/core/store/changes.ts";
import { clientUseStore } from "../../../src/core/store/client_uses.ts";
import { Database } from "../../../src/core/kv/database.ts";
import { rateStore } from "../../../src/core/store/rate.ts";
import { replyStore } from "../../../src/core/store/replies.ts";
import { sessionStore } from "../../../src/core/store/sessions.ts";
import { taskStore } from "../../../src/features/work/tasks.ts";
import { memoryKv } from "../../../src/core/kv/memory_kv.ts";

const NOW = 1_800_000_000;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const IDENTITY = { subject: "42" };

/** The writes, and the lifetime of each of their records. */
const LIVES: [
  what: string,
  seconds: number[],
  write: (database: Database) => unknown,
][] = [
  [
    "a session and its place in a list",
    [HOUR, HOUR],
    (database) =>
      sessionStore(database).save({
        binding: "ada",
        revision: "2025-11-25",
        clientInfo: { name: "c", version: "1" },
        capabilities: {},
      }),
  ],
  [
    "a session of the account page and its place in a list",
    [HOUR, HOUR],
    (database) =>
      accountSessionStore(database).save({
        subject: "dev:42",
        identity: IDENTITY,
      }),
  ],
  [
    "an access token for the page that shows it",
    [5 * MINUTE],
    async (database) =>
      database.commit(
        await accountSessionStore(database).keepMade("c", "grant", "token"),
      ),
  ],
  ["an attempt to connect", [30 * DAY], (database) => {
    const attempts = attemptLog(database, silentLogger);
    attempts.note({ step: "POST /token", isStranger: false });
    return attempts.close();
  }],
  [
    "a cancellation",
    [5 * MINUTE],
    (database) => cancellationStore(database).save("session", 1),
  ],
  [
    "a change",
    [5 * MINUTE],
    (database) => changeStore(database, () => {}).listChanged("tools"),
  ],
  ["the last use of a client", [90 * DAY], (database) => {
    clientUseStore(database).touch("ci");
    return database.idle();
  }],
  [
    "a question to a client",
    [HOUR],
    (database) => replyStore(database).expect("session", "1"),
  ],
  [
    "a bucket of which a part is missing",
    [30],
    (database) =>
      rateStore(database, "token", { burst: 60, perSecond: 1 })
        .take("a", 20, 10),
  ],
  [
    "a task, its place in a list and its lease",
    [30, DAY + HOUR, DAY + HOUR],
    (database) => taskStore(database).create("task", { binding: "ada" }),
  ],
];

for (const [what, expected, write] of LIVES) {
  Deno.test(`${what} lives ${expected.join(", ")} seconds`, async () => {
    using kv = memoryKv();
    await write(new Database(kv, { clock: () => NOW * 1000 }));
    const entries = await Array.fromAsync(kv.list<unknown>({ prefix: [] }));
    const seconds = entries.flatMap(({ value }) =>
      typeof value === "object"
        ? [(value as { expiresAt: number }).expiresAt - NOW]
        : []
    );
    assert.deepEqual(seconds.sort((a, b) => a - b), expected);
  });
}
