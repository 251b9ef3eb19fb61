/**
 * The last attempts to connect, so listed that no flood pushes out what an
 * operator looks for.
 *
 * @module
 */

/** One step of connecting, as it ended. It holds no code, token or state. */
export interface Attempt {
  /** When it was last seen, in epoch seconds. */
  at: number;
  /** `GET /authorize`. */
  step: string;
  /** What is known of the client. */
  client?: string;
  /** Why it failed; undefined when it went well. */
  failure?: string;
  /** Whether nothing showed that the client is a real one. */
  isStranger: boolean;
  /** How often the same was seen. */
  count: number;
}

/** In characters of at most two bytes: all attempts fit a value of 64 KiB. */
const CLIENT_MAX_LENGTH = 100;
const FAILURE_MAX_LENGTH = 300;

/** How many are kept: of clients that failed, that connected, of strangers. */
const MOST_FAILURES = 30;
const MOST_SUCCESSES = 15;
const MOST_STRANGERS = 15;

/** How many attempts are kept in all. */
export const ATTEMPTS = MOST_FAILURES + MOST_SUCCESSES + MOST_STRANGERS;

/**
 * Adds an attempt. What was seen before is counted; strangers are told apart
 * by their failure only, as they can make up any number of names.
 */
export function addAttempt(
  attempts: readonly Attempt[],
  { client, failure, ...added }: Attempt,
): Attempt[] {
  const attempt: Attempt = {
    ...added,
    client: client?.slice(0, CLIENT_MAX_LENGTH),
    failure: failure?.slice(0, FAILURE_MAX_LENGTH),
  };
  const isOther = (other: Attempt) => sameness(other) !== sameness(attempt);
  const before = attempts.find((other) => !isOther(other));
  const count = attempt.count + (before?.count ?? 0);
  return arrange([{ ...attempt, count }, ...attempts.filter(isOther)]);
}

/** Failures of real clients first, then connections, then strangers. */
function arrange(attempts: readonly Attempt[]): Attempt[] {
  const newestFirst = attempts.toSorted((one, other) => other.at - one.at);
  const strangers = newestFirst.filter(({ isStranger }) => isStranger);
  const known = newestFirst.filter(({ isStranger }) => !isStranger);
  const failures = known.filter(({ failure }) => failure !== undefined);
  const successes = known.filter(({ failure }) => failure === undefined);
  return [
    ...fairly(failures, MOST_FAILURES),
    ...successes.slice(0, MOST_SUCCESSES),
    ...strangers.slice(0, MOST_STRANGERS),
  ];
}

/** Where there are too many, the oldest of the most frequent cause goes. */
function fairly(failures: Attempt[], most: number): Attempt[] {
  const kept = [...failures];
  while (kept.length > most) {
    const causes = Map.groupBy(kept, causeOf);
    const [largest] = [...causes.values()].toSorted((one, other) =>
      other.length - one.length
    );
    kept.splice(kept.indexOf(largest.at(-1)!), 1);
  }
  return kept;
}

function causeOf({ step, failure }: Attempt): string {
  return `${step} ${failure}`;
}

function sameness(attempt: Attempt): string {
  const { isStranger, step, client, failure } = attempt;
  return isStranger
    // The error's code: its description may quote what a stranger wrote.
    ? JSON.stringify([step, failure?.split(":")[0]])
    : JSON.stringify([step, failure, client]);
}
