/**
 * The failures of refreshes. A request for the same tokens soon after fails in the
 * same way, and the server that issued them is left alone.
 *
 * @module
 */
import { UpstreamError } from "./provider.ts";

/** The longest time for which a failure is remembered. */
const MAX_SECONDS = 60;

/** The most records whose failures are remembered. */
const CAPACITY = 10_000;

interface Failure {
  /** The tokens that were not refreshed. */
  tokens: string;
  /** Undefined if the refresh only took long. */
  cause: unknown;
  /** The time until which it is given, by `performance.now()`. */
  untilMilliseconds: number;
}

export class RefreshFailures {
  /** By the ids of the records, the oldest first. */
  readonly #latest = new Map<string, Failure>();

  /** @param minSeconds the least time for which one is remembered */
  constructor(private readonly minSeconds: number) {}

  /** Finds a failure of these tokens that was a moment ago. */
  find(id: string, tokens: string): { cause: unknown } | undefined {
    const failure = this.#latest.get(id);
    const isRecent = failure?.tokens === tokens &&
      failure.untilMilliseconds > performance.now();
    return isRecent ? failure : undefined;
  }

  /** Notes a failure, for as long as the server says, within bounds. */
  note(id: string, tokens: string, cause?: unknown): void {
    const { retryAfterSeconds = 0 } = cause instanceof UpstreamError
      ? cause
      : {};
    const seconds = Math.max(retryAfterSeconds, this.minSeconds);
    const untilMilliseconds = performance.now() +
      Math.min(seconds, MAX_SECONDS) * 1000;
    this.#latest.delete(id);
    const [oldest] = this.#latest.keys();
    if (this.#latest.size >= CAPACITY) this.#latest.delete(oldest);
    this.#latest.set(id, { tokens, cause, untilMilliseconds });
  }

  /** Forgets that a refresh took long, which has ended. */
  endWait(id: string): void {
    if (this.#latest.get(id)?.cause === undefined) this.#latest.delete(id);
  }
}
