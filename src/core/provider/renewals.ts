/**
 * Renews access tokens that an API has refused, at most once a minute for each
 * account or grant. Otherwise, if an API always refuses one resource, each tool
 * call for it would get a new token.
 *
 * @module
 */
import { LatestMap } from "../cache.ts";

const RENEWED_MILLISECONDS = 60_000;

interface Renewal<T> {
  rejected: string;
  token: Promise<T | undefined>;
}

export class Renewals<T> {
  /** The latest renewal of each account or grant. */
  readonly #latest = new LatestMap<Renewal<T>>();

  /**
   * Renews a refused token. Undefined if another token of the same account was
   * renewed within the last minute.
   *
   * @param id the id of the account or grant
   */
  async renew(
    id: string,
    rejected: string,
    renewNow: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const latest = this.#latest.get(id);
    if (latest) return latest.rejected === rejected ? latest.token : undefined;
    const token = renewNow();
    this.#latest.set(id, { rejected, token }, RENEWED_MILLISECONDS);
    try {
      return await token;
    } catch (error) {
      // Forgotten, so that it can be tried again: the server may have been
      // down.
      this.#latest.delete(id);
      throw error;
    }
  }
}
