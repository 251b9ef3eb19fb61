/**
 * The failures of refreshes. Soon after a failure, a request for the same
 * tokens fails in the same way, without a request to the server that issued
 * them.
 *
 * @module
 */
import { LatestMap } from "../latest_map.ts";
import { UpstreamError } from "./provider.ts";

/** The maximum time for which a failure is remembered. */
const MAX_SECONDS = 60;

interface Failure {
  /** The tokens that were not refreshed. */
  tokens: string;
  /** The cause; undefined if the refresh only took too long. */
  cause: unknown;
}

export class RefreshFailures {
  /** The latest failures, by the ids of the token records. */
  readonly #latest = new LatestMap<Failure>();

  /** @param minSeconds the minimum time for which a failure is remembered */
  constructor(private readonly minSeconds: number) {}

  /** Finds a recent failure of these tokens. */
  find(id: string, tokens: string): { cause: unknown } | undefined {
    const failure = this.#latest.get(id);
    return failure?.tokens === tokens ? failure : undefined;
  }

  /**
   * Records a failure for as long as the server wants no further request,
   * within bounds.
   */
  note(id: string, tokens: string, cause?: unknown): void {
    const { retryAfterSeconds = 0 } = cause instanceof UpstreamError
      ? cause
      : {};
    const seconds = Math.max(retryAfterSeconds, this.minSeconds);
    const milliseconds = Math.min(seconds, MAX_SECONDS) * 1000;
    this.#latest.set(id, { tokens, cause }, milliseconds);
  }

  /**
   * Removes the failure of a refresh that took too long, when it ends after
   * all.
   */
  endWait(id: string): void {
    if (this.#latest.get(id)?.cause === undefined) this.#latest.delete(id);
  }
}
