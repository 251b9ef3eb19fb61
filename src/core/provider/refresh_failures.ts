/**
 * The failures of refreshes. Soon after a failure, a request for the same
 * tokens fails in the same way, without asking the server that issued them.
 *
 * @module
 */
import { LatestMap } from "../latest_map.ts";
import { UpstreamError } from "./provider.ts";

/** The longest time for which a failure is remembered. */
const MAX_SECONDS = 60;

interface Failure {
  /** The tokens that were not refreshed. */
  tokens: string;
  /** Undefined if the refresh only took long. */
  cause: unknown;
}

export class RefreshFailures {
  /** The latest failures, by the ids of the tokens' records. */
  readonly #latest = new LatestMap<Failure>();

  /** @param minSeconds the least time for which a failure is remembered */
  constructor(private readonly minSeconds: number) {}

  /** Finds a recent failure of these tokens. */
  find(id: string, tokens: string): { cause: unknown } | undefined {
    const failure = this.#latest.get(id);
    return failure?.tokens === tokens ? failure : undefined;
  }

  /**
   * Notes a failure until the server wants to be asked again, within bounds.
   */
  note(id: string, tokens: string, cause?: unknown): void {
    const { retryAfterSeconds = 0 } = cause instanceof UpstreamError
      ? cause
      : {};
    const seconds = Math.max(retryAfterSeconds, this.minSeconds);
    const milliseconds = Math.min(seconds, MAX_SECONDS) * 1000;
    this.#latest.set(id, { tokens, cause }, milliseconds);
  }

  /** Forgets the failure of a slow refresh, once that refresh has ended. */
  endWait(id: string): void {
    if (this.#latest.get(id)?.cause === undefined) this.#latest.delete(id);
  }
}
