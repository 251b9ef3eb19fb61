/**
 * The subscriptions that this process serves.
 *
 * @module
 */
import { HttpError } from "../../errors.ts";
import { CallerBound } from "./caller_bound.ts";
import type { Running } from "./running.ts";

/** The most streams that one process keeps open; a stream costs a few KiB. */
const SUBSCRIPTIONS = 10_000;

/** The most streams of one caller in one process. */
export const SUBSCRIPTIONS_PER_CALLER = 100;

/** The open subscriptions, bounded, until the server stops. */
export class Subscriptions {
  #open = new Set<Running>();
  #hasEnded = false;
  #bound = new CallerBound(
    SUBSCRIPTIONS_PER_CALLER,
    "subscriptions at a time",
  );

  /**
   * @throws {HttpError} 503 when there are too many, or the server stops; 429
   * when the caller has too many
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

  /** Ends all subscriptions, each with its result; new ones are refused. */
  end(): void {
    this.#hasEnded = true;
    for (const call of this.#open) call.stop("The server stops");
  }
}
