/**
 * The last attempts to connect, for the operator who is told "it does not
 * connect". All are one value, so that their number is bounded whatever
 * happens, and a process writes them at most once a second.
 *
 * @module
 */
import { now } from "../clock.ts";
import type { Logger } from "../log.ts";
import { addAttempt, type Attempt } from "./attempt_list.ts";
import { attemptsKey } from "./keys.ts";
import { alive, commit, expireIn, type Expiring, reach } from "./kv.ts";

export type { Attempt } from "./attempt_list.ts";

const ATTEMPTS_SECONDS = 30 * 24 * 60 * 60;
const TRIES = 5;
const WRITE_MILLISECONDS = 1000;

interface AttemptsRecord extends Expiring {
  attempts: readonly Attempt[];
}

/** Attempts in Deno KV. */
export interface AttemptStore {
  /** Remembers an attempt, and writes it down within a second. */
  note(attempt: Omit<Attempt, "at" | "count">): void;
  /** The last attempts: failures first, strangers last, each newest first. */
  list(): Promise<readonly Attempt[]>;
  /** Writes down what is remembered. */
  close(): Promise<void>;
}

/** Attempts in a database. */
export function attemptStore(kv: Deno.Kv, log: Logger): AttemptStore {
  const key = attemptsKey();
  let noted: Attempt[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  async function tryWrite(): Promise<boolean> {
    const entry = await reach(() => kv.get<AttemptsRecord>(key));
    const added = noted;
    const attempts = added.reduceRight(
      addAttempt,
      [...alive(entry)?.value.attempts ?? []],
    );
    const record = { attempts, expiresAt: now() + ATTEMPTS_SECONDS };
    const isWritten = await commit(
      kv,
      (operation) => operation.check(entry).set(key, record, expireIn(record)),
    );
    // What came meanwhile waits for the next time.
    if (isWritten && noted === added) noted = [];
    return isWritten;
  }

  async function write(): Promise<void> {
    try {
      for (let tries = 0; tries < TRIES; tries++) if (await tryWrite()) return;
    } catch (error) {
      log.warning("Attempts to connect were not written down", { error });
      noted = [];
    }
  }

  /** One at a time. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (noted.length === 0) return writing;
    return writing = writing.then(write);
  }

  return {
    note(attempt) {
      noted = addAttempt(noted, { ...attempt, at: now(), count: 1 });
      timer ??= setTimeout(flush, WRITE_MILLISECONDS);
    },

    async list() {
      await flush();
      const entry = await reach(() => kv.get<AttemptsRecord>(key));
      return alive(entry)?.value.attempts ?? [];
    },

    close: flush,
  };
}
