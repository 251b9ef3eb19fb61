/**
 * The last attempts to connect, for an operator who is told "it does not
 * connect". All are in one value, so that their number is bounded in any case,
 * and a process writes them at most once a second.
 *
 * @module
 */
import type { Logger } from "../log/log.ts";
import { detached } from "../telemetry/current.ts";
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

export function attemptStore(database: Database, log: Logger) {
  const key = attemptsKey();
  let noted: Attempt[] = [];
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  async function tryWrite(added: readonly Attempt[]): Promise<boolean> {
    const entry = await database.get<AttemptsRecord>(key);
    const attempts = added.reduceRight(
      addAttempt,
      [...entry.value?.attempts ?? []],
    );
    const record = { attempts, expiresAt: database.now() + ATTEMPTS_SECONDS };
    return await database.commit((transaction) =>
      transaction.check(entry).set(key, record)
    ) !== undefined;
  }

  async function write(): Promise<void> {
    // Attempts that come meanwhile are written the next time, and counted once.
    const added = noted;
    noted = [];
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        if (await tryWrite(added)) return;
      }
      noted = noted.reduceRight(addAttempt, added);
      startTimer();
    } catch (error) {
      log.warning("Attempts to connect could not be stored", { error });
    }
  }

  function startTimer(): void {
    if (isClosed) return;
    timer ??= detached(() => setTimeout(flush, WRITE_MILLISECONDS));
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
      startTimer();
    },

    /**
     * Lists the last attempts: failures first, strangers last, each newest
     * first.
     */
    async list(): Promise<readonly Attempt[]> {
      await flush();
      return (await database.get<AttemptsRecord>(key)).value?.attempts ?? [];
    },

    /** Writes the noted attempts; those that cannot be written are lost. */
    async close(): Promise<void> {
      isClosed = true;
      await flush();
    },
  };
}
