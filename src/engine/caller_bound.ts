/**
 * How much one caller may have of something at a time.
 *
 * @module
 */
import type { Caller } from "../caller.ts";
import { HttpError } from "../errors.ts";

/**
 * A bound for each caller in this process. Where all share one credential, or
 * none is needed, one caller is many people: there is no bound for them.
 */
export class CallerBound {
  #counts = new Map<string, number>();

  /** @param what in the plural, for the error */
  constructor(
    private readonly most: number,
    private readonly what: string,
  ) {}

  /** @throws {HttpError} 429 when the caller has as many as there may be */
  check({ binding, scopes }: Caller): void {
    const count = this.#counts.get(binding) ?? 0;
    if (count < this.most || scopes === "all") return;
    throw new HttpError(429, `Too many ${this.what} at a time`, {
      "retry-after": "5",
    });
  }

  /** Counts one more, which was checked. */
  count({ binding }: Caller): void {
    this.#counts.set(binding, (this.#counts.get(binding) ?? 0) + 1);
  }

  /** @throws {HttpError} 429 when the caller has as many as there may be */
  take(caller: Caller): void {
    this.check(caller);
    this.count(caller);
  }

  /** Gives back one that was taken. */
  release({ binding }: Caller): void {
    const count = this.#counts.get(binding)! - 1;
    if (count > 0) this.#counts.set(binding, count);
    else this.#counts.delete(binding);
  }
}
