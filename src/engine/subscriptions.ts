/**
 * The subscriptions that this process carries.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import type { Running } from "./running.ts";

/** Streams one process keeps open; a stream costs a few KiB. */
export const SUBSCRIPTIONS = 10_000;

/** The open subscriptions: so many and no more, until the server stops. */
export class Subscriptions {
  #open = new Set<Running>();
  #hasEnded = false;

  /** @throws {HttpError} 503 when there are too many, or the server stops */
  add(call: Running): void {
    if (this.#hasEnded || this.#open.size >= SUBSCRIPTIONS) {
      const message = this.#hasEnded
        ? "The server is stopping"
        : "Too many subscriptions";
      throw new HttpError(503, message, { "retry-after": "30" });
    }
    this.#open.add(call);
  }

  delete(call: Running): void {
    this.#open.delete(call);
  }

  /** Ends them all, each with its result; there are no new ones. */
  end(): void {
    this.#hasEnded = true;
    for (const call of this.#open) call.stop("The server stops");
  }
}
