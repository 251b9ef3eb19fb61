/**
 * The renewals of access tokens that an API has refused, one a minute for an
 * account or a grant. An API may refuse one resource for ever, and each call of
 * a tool that asks for it would cost another token.
 *
 * @module
 */
const RENEWED_MILLISECONDS = 60_000;

/** The most accounts whose renewals are remembered. */
const CAPACITY = 10_000;

interface Renewal<T> {
  rejected: string;
  /** The token in its place. */
  token: Promise<T | undefined>;
  /** The time of its start, by `performance.now()`. */
  startedMilliseconds: number;
}

export class Renewals<T> {
  /** The latest of each account, the oldest first. */
  readonly #latest = new Map<string, Renewal<T>>();

  /**
   * Gives the token in place of one that was rejected. Undefined if another of
   * the same account was renewed within the last minute.
   *
   * @param id names the account
   */
  async renew(
    id: string,
    rejected: string,
    renewNow: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    this.#dropOldest();
    const latest = this.#latest.get(id);
    if (latest) return latest.rejected === rejected ? latest.token : undefined;
    const startedMilliseconds = performance.now();
    const token = renewNow();
    this.#latest.set(id, { rejected, token, startedMilliseconds });
    return await token;
  }

  #dropOldest(): void {
    const freshSince = performance.now() - RENEWED_MILLISECONDS;
    for (const [id, { startedMilliseconds }] of this.#latest) {
      const isFresh = startedMilliseconds > freshSince;
      if (isFresh && this.#latest.size < CAPACITY) return;
      this.#latest.delete(id);
    }
  }
}
