/**
 * The subscriptions that this process carries.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import { CallerBound } from "./caller_bound.ts";
import type { Running } from "./running.ts";

/** Streams one process keeps open; a stream costs a few KiB. */
export const SUBSCRIPTIONS = 10_000;

/** Those of one caller in one process. */
export const SUBSCRIPTIONS_PER_CALLER = 100;

/** The open subscriptions: so many and no more, until the server stops. */
export class Subscriptions {
  #open = new Set<Running>();
  #hasEnded = false;
  #bound = new CallerBound(
    SUBSCRIPTIONS_PER_CALLER,
    "subscriptions at a time",
  );

  /**
   * @throws {HttpError} 503 when there are too many, or the server stops; 429
   * when there are too many of one caller
   */
  add(call: Running): void {
    if (this.#hasEnded || this.#open.size >= SUBSCRIPTIONS) {
      const message = this.#hasEnded
        ? "The server is stopping"
        : "Too many subscriptions";
      throw new HttpError(503, message, { "retry-after": "30" });
    }
    this.#bound.take(call.countedAs);
    this.#open.add(call);
  }

  delete(call: Running): void {
    if (this.#open.delete(call)) this.#bound.release(call.countedAs);
  }

  /** Ends them all, each with its result; there are no new ones. */
  end(): void {
    this.#hasEnded = true;
    for (const call of this.#open) call.stop("The server stops");
  }
}
