/**
 * How much one caller may have of something at a time.
 *
 * @module
 */
import { LimitError } from "../errors.ts";
import { type CountedAs, MANY } from "./counted_as.ts";

/** When to try again: something ends sooner or later, and no one knows when. */
const RETRY_SECONDS = 5;

/** A bound for each caller in this process. */
export class CallerBound {
  #counts = new Map<string, number>();

  /**
   * @param what in the plural, for the error
   * @param many how much more a caller may have who may be many people
   */
  constructor(
    private readonly most: number,
    private readonly what: string,
    private readonly many: number = MANY,
  ) {}

  /** @throws {LimitError} when the caller has as many as there may be */
  check(caller: CountedAs | undefined): void {
    if (caller === undefined) return;
    const { name, isMany } = caller;
    const count = this.#counts.get(name) ?? 0;
    if (count < this.most * (isMany ? this.many : 1)) return;
    throw new LimitError(this.what, RETRY_SECONDS);
  }

  /** Counts one more, which was checked. */
  count(caller: CountedAs | undefined): void {
    if (caller === undefined) return;
    const { name } = caller;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** @throws {LimitError} when the caller has as many as there may be */
  take(caller: CountedAs | undefined): void {
    this.check(caller);
    this.count(caller);
  }

  /** Gives back one that was taken. */
  release(caller: CountedAs | undefined): void {
    if (caller === undefined) return;
    const count = this.#counts.get(caller.name)! - 1;
    if (count > 0) this.#counts.set(caller.name, count);
    else this.#counts.delete(caller.name);
  }
}
