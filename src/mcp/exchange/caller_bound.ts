/**
 * A bound on the number of things that one caller has at a time.
 *
 * @module
 */
import { LimitError } from "../../errors.ts";
import { type CountedAs, MANY } from "./counted_as.ts";

/** The seconds after which to try again; the real time is not known. */
const RETRY_SECONDS = 5;

/** A bound for each caller in this process. */
export class CallerBound {
  #counts = new Map<string, number>();

  /**
   * @param what the name of the things in the plural, for the error
   * @param many the factor for a caller that may be many people
   */
  constructor(
    private readonly most: number,
    private readonly what: string,
    private readonly many: number = MANY,
  ) {}

  /**
   * True unless the caller has reached the bound.
   *
   * @param most the bound at this moment
   */
  hasRoom(caller: CountedAs | undefined, most: number = this.most): boolean {
    if (caller === undefined) return true;
    const { name, isMany } = caller;
    const count = this.#counts.get(name) ?? 0;
    return count < most * (isMany ? this.many : 1);
  }

  /** @throws {LimitError} when the caller has reached the bound */
  check(caller: CountedAs | undefined): void {
    if (this.hasRoom(caller)) return;
    throw new LimitError(this.what, RETRY_SECONDS);
  }

  /** Counts one more, after a check. */
  count(caller: CountedAs | undefined): void {
    if (caller === undefined) return;
    const { name } = caller;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** @throws {LimitError} when the caller has reached the bound */
  take(caller: CountedAs | undefined): void {
    this.check(caller);
    this.count(caller);
  }

  release(caller: CountedAs | undefined): void {
    if (caller === undefined) return;
    const count = this.#counts.get(caller.name)! - 1;
    if (count > 0) this.#counts.set(caller.name, count);
    else this.#counts.delete(caller.name);
  }
}
