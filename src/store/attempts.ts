/**
 * The last attempts to connect, for the operator who is told "it does not
 * connect". They stand in one value, so that their number is bounded whatever
 * happens; where many are made at once, some are not written down.
 *
 * @module
 */
import { attemptsKey } from "./keys.ts";
import { alive, commit, expireIn, type Expiring, reach } from "./kv.ts";
import { now } from "../clock.ts";

/** How many attempts are kept. */
export const ATTEMPTS = 60;

const ATTEMPTS_SECONDS = 30 * 24 * 60 * 60;
const TRIES = 5;
/** In characters of at most two bytes: 60 attempts fit a value of 64 KiB. */
const CLIENT_MAX_LENGTH = 100;
const FAILURE_MAX_LENGTH = 300;

/** One step of connecting, as it ended. It holds no code, token or state. */
export interface Attempt {
  /** Epoch seconds. */
  at: number;
  /** `GET /authorize`. */
  step: string;
  /** What is known of the client. */
  client?: string;
  /** Why it failed; undefined when it went well. */
  failure?: string;
}

interface AttemptsRecord extends Expiring {
  /** Newest first. */
  attempts: readonly Attempt[];
}

/** Attempts in Deno KV. */
export interface AttemptStore {
  /** Writes an attempt down. */
  save(attempt: Omit<Attempt, "at">): Promise<void>;
  /** The last attempts, newest first. */
  list(): Promise<readonly Attempt[]>;
}

/** Attempts in a database. */
export function attemptStore(kv: Deno.Kv): AttemptStore {
  const key = attemptsKey();

  return {
    async save({ step, client, failure }) {
      const attempt: Attempt = {
        at: now(),
        step,
        client: client?.slice(0, CLIENT_MAX_LENGTH),
        failure: failure?.slice(0, FAILURE_MAX_LENGTH),
      };
      for (let tries = 0; tries < TRIES; tries++) {
        const entry = await reach(() => kv.get<AttemptsRecord>(key));
        const before = alive(entry)?.value.attempts ?? [];
        const record: AttemptsRecord = {
          attempts: [attempt, ...before].slice(0, ATTEMPTS),
          expiresAt: now() + ATTEMPTS_SECONDS,
        };
        const isSaved = await commit(
          kv,
          (operation) =>
            operation.check(entry).set(key, record, expireIn(record)),
        );
        if (isSaved) return;
      }
    },

    async list() {
      const entry = await reach(() => kv.get<AttemptsRecord>(key));
      return alive(entry)?.value.attempts ?? [];
    },
  };
}
