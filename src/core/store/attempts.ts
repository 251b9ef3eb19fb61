/**
 * The last attempts to connect, for an operator who hears "it does not
 * connect". A flood of attempts cannot push out those that matter.
 *
 * @module
 */
import type { Logger } from "../log/log.ts";
import type { Database } from "../kv/database.ts";
import { attemptsKey } from "../kv/keys.ts";
import { sharedList } from "./shared_list.ts";

export const ATTEMPTS_SECONDS = 30 * 24 * 60 * 60;

/**
 * The end of one step of an attempt to connect. It has no code, token or state.
 */
export interface ConnectAttempt {
  /** The time of the latest attempt, in epoch seconds. */
  at: number;
  /** The route of the step: `GET /authorize`. */
  step: string;
  /** The client's name or id, if known. */
  client?: string;
  /** The reason of the failure; undefined if the attempt succeeded. */
  failure?: string;
  /** True if nothing proves that the client exists. */
  isStranger: boolean;
  /** The number of equal attempts in this entry. */
  count: number;
}

/**
 * The maximum length of a client's name and of a failure, so that all attempts
 * fit into 64 KiB.
 */
const CLIENT_MAX_LENGTH = 100;
const FAILURE_MAX_LENGTH = 300;

/** The maximum number of failures of known clients. */
const MAX_FAILURES = 30;
const MAX_SUCCESSES = 15;
const MAX_STRANGERS = 15;

/** The maximum number of attempts that are stored. */
export const MAX_ATTEMPTS = MAX_FAILURES + MAX_SUCCESSES + MAX_STRANGERS;

/**
 * Adds an attempt, or raises the count of an equal one. For unknown clients
 * only step and error code are compared, because clients can make up any number
 * of names.
 */
export function addAttempt(
  attempts: readonly ConnectAttempt[],
  { client, failure, ...added }: ConnectAttempt,
): ConnectAttempt[] {
  const attempt: ConnectAttempt = {
    ...added,
    client: client?.slice(0, CLIENT_MAX_LENGTH),
    failure: failure?.slice(0, FAILURE_MAX_LENGTH),
  };
  const isOther = (other: ConnectAttempt) =>
    groupOf(other) !== groupOf(attempt);
  const before = attempts.find((other) => !isOther(other));
  const count = attempt.count + (before?.count ?? 0);
  return arrange([{ ...attempt, count }, ...attempts.filter(isOther)]);
}

/**
 * Sorts and truncates attempts: failures and successes of known clients, then
 * unknown clients.
 */
function arrange(attempts: readonly ConnectAttempt[]): ConnectAttempt[] {
  const newestFirst = attempts.toSorted((one, other) => other.at - one.at);
  const strangers = newestFirst.filter(({ isStranger }) => isStranger);
  const known = newestFirst.filter(({ isStranger }) => !isStranger);
  const failures = known.filter(({ failure }) => failure !== undefined);
  const successes = known.filter(({ failure }) => failure === undefined);
  return [
    ...dropFairly(failures, MAX_FAILURES),
    ...successes.slice(0, MAX_SUCCESSES),
    ...strangers.slice(0, MAX_STRANGERS),
  ];
}

/**
 * Truncates a list. Drops the oldest entry of the most frequent failure first.
 */
function dropFairly(
  failures: ConnectAttempt[],
  most: number,
): ConnectAttempt[] {
  const kept = [...failures];
  while (kept.length > most) {
    const causes = Map.groupBy(
      kept,
      ({ step, failure }) => `${step} ${failure}`,
    );
    const [largest] = [...causes.values()].toSorted((one, other) =>
      other.length - one.length
    );
    kept.splice(kept.indexOf(largest.at(-1)!), 1);
  }
  return kept;
}

function groupOf(attempt: ConnectAttempt): string {
  const { isStranger, step, client, failure } = attempt;
  return isStranger
    // The error code only, because the description may quote the client's text.
    ? JSON.stringify([step, failure?.split(":")[0]])
    : JSON.stringify([step, failure, client]);
}

export type AttemptLog = ReturnType<typeof attemptLog>;

export function attemptLog(database: Database, log: Logger) {
  const attempts = sharedList<ConnectAttempt>(database, log, {
    key: attemptsKey(),
    member: "attempts",
    keepSeconds: ATTEMPTS_SECONDS,
    complaint: "Attempts to connect could not be stored",
    add: (known, added) => added.reduceRight(addAttempt, [...known]),
  });
  return {
    /** Records an attempt; it is written within a second. */
    note(attempt: Omit<ConnectAttempt, "at" | "count">): void {
      attempts.note({ ...attempt, at: database.now(), count: 1 });
    },

    /**
     * Lists attempts: failures first, unknown clients last, each newest first.
     */
    async list(): Promise<readonly ConnectAttempt[]> {
      await attempts.flush();
      return await attempts.read();
    },

    close: attempts.close,
  };
}
