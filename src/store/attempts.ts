/**
 * The last attempts to connect, for an operator who is told "it does not
 * connect".
 *
 * @module
 */
import type { Logger } from "../log/log.ts";
import { addAttempt, type Attempt } from "./attempt_list.ts";
import type { Database } from "./database.ts";
import { attemptsKey } from "./keys.ts";
import { sharedList } from "./shared_list.ts";

export type { Attempt } from "./attempt_list.ts";

const ATTEMPTS_SECONDS = 30 * 24 * 60 * 60;

export type AttemptStore = ReturnType<typeof attemptStore>;

export function attemptStore(database: Database, log: Logger) {
  const attempts = sharedList<Attempt>(database, log, {
    key: attemptsKey(),
    member: "attempts",
    keepSeconds: ATTEMPTS_SECONDS,
    complaint: "Attempts to connect could not be stored",
    add: (known, added) => added.reduceRight(addAttempt, [...known]),
  });
  return {
    /** Notes an attempt, and writes it within a second. */
    note(attempt: Omit<Attempt, "at" | "count">): void {
      attempts.note({ ...attempt, at: database.now(), count: 1 });
    },

    /**
     * Lists the last attempts: failures first, strangers last, each newest
     * first.
     */
    async list(): Promise<readonly Attempt[]> {
      await attempts.flush();
      return await attempts.read();
    },

    close: attempts.close,
  };
}
