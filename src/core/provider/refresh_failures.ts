/**
 * Remembers failed refreshes. For a while, another refresh of the same tokens
 * fails with the same error, without a request.
 *
 * @module
 */
import { LatestMap } from "../cache.ts";
import { UpstreamError } from "./provider.ts";

/** The maximum time for which a failure is remembered. */
const MAX_SECONDS = 60;

interface Failure {
  /** The JSON of the tokens that could not be refreshed. */
  tokens: string;
  /** The error; undefined if the refresh timed out. */
  cause: unknown;
}

export class RefreshFailures {
  /** The latest failures, keyed by the id of the token record. */
  readonly #latest = new LatestMap<Failure>();

  /** @param minSeconds the minimum time for which a failure is remembered */
  constructor(private readonly minSeconds: number) {}

  /** Finds the recent failure to refresh these tokens. */
  find(id: string, tokens: string): { cause: unknown } | undefined {
    const failure = this.#latest.get(id);
    return failure?.tokens === tokens ? failure : undefined;
  }

  /**
   * Records a failure for as long as the server's `Retry-After` says, within
   * limits.
   */
  note(id: string, tokens: string, cause?: unknown): void {
    const { retryAfterSeconds = 0 } = cause instanceof UpstreamError
      ? cause
      : {};
    const seconds = Math.max(retryAfterSeconds, this.minSeconds);
    const milliseconds = Math.min(seconds, MAX_SECONDS) * 1000;
    this.#latest.set(id, { tokens, cause }, milliseconds);
  }

  /** Forgets that a refresh timed out, because it has ended after all. */
  endWait(id: string): void {
    if (this.#latest.get(id)?.cause === undefined) this.#latest.delete(id);
  }
}
