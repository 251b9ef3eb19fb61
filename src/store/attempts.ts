/**
 * The last attempts to connect, for an operator who is told "it does not
 * connect". All are in one value, so that their number is bounded in any case,
 * and a process writes them at most once a second.
 *
 * @module
 */
import type { Logger } from "../log.ts";
import { detached } from "../telemetry.ts";
import { addAttempt, type Attempt } from "./attempt_list.ts";
import type { Database, Expiring } from "./database.ts";
import { attemptsKey } from "./keys.ts";

export type { Attempt } from "./attempt_list.ts";

const ATTEMPTS_SECONDS = 30 * 24 * 60 * 60;
const TRIES = 5;
const WRITE_MILLISECONDS = 1000;

interface AttemptsRecord extends Expiring {
  attempts: readonly Attempt[];
}

export type AttemptStore = ReturnType<typeof attemptStore>;

/** Attempts in a database. */
export function attemptStore(database: Database, log: Logger) {
  const key = attemptsKey();
  let noted: Attempt[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  async function tryWrite(): Promise<boolean> {
    const entry = await database.get<AttemptsRecord>(key);
    const added = noted;
    const attempts = added.reduceRight(
      addAttempt,
      [...entry.value?.attempts ?? []],
    );
    const record = { attempts, expiresAt: database.now() + ATTEMPTS_SECONDS };
    const isWritten =
      await database.commit((transaction) =>
        transaction.check(entry).set(key, record)
      ) !== undefined;
    // Attempts that came meanwhile are written the next time.
    if (isWritten && noted === added) noted = [];
    return isWritten;
  }

  async function write(): Promise<void> {
    try {
      for (let tries = 0; tries < TRIES; tries++) if (await tryWrite()) return;
    } catch (error) {
      log.warning("Attempts to connect could not be stored", { error });
      noted = [];
    }
  }

  /** Writes the noted attempts, one write at a time. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (noted.length === 0) return writing;
    return writing = writing.then(write);
  }

  return {
    /** Notes an attempt, and writes it within a second. */
    note(attempt: Omit<Attempt, "at" | "count">): void {
      noted = addAttempt(noted, { ...attempt, at: database.now(), count: 1 });
      timer ??= detached(() => setTimeout(flush, WRITE_MILLISECONDS));
    },

    /**
     * Lists the last attempts: failures first, strangers last, each newest
     * first.
     */
    async list(): Promise<readonly Attempt[]> {
      await flush();
      return (await database.get<AttemptsRecord>(key)).value?.attempts ?? [];
    },

    /** Writes the noted attempts. */
    close: flush,
  };
}
