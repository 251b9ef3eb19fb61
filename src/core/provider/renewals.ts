/**
 * The renewals of access tokens that an API has refused: at most one a minute
 * for an account or a grant. Otherwise, if an API always refuses one resource,
 * each call of a tool that requests this resource would cost another token.
 *
 * @module
 */
import { LatestMap } from "../latest_map.ts";

const RENEWED_MILLISECONDS = 60_000;

interface Renewal<T> {
  rejected: string;
  /** The new token. */
  token: Promise<T | undefined>;
}

export class Renewals<T> {
  /** The latest renewal of each account. */
  readonly #latest = new LatestMap<Renewal<T>>();

  /**
   * Returns a new token for a rejected one. Undefined if another token of the
   * same account was renewed within the last minute.
   *
   * @param id names the account
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
      // A renewal that failed is tried again: the service may only have been away.
      if (this.#latest.get(id)?.token === token) this.#latest.delete(id);
      throw error;
    }
  }
}
