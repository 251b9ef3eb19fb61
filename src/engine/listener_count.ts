/**
 * How many subscriptions a process carries.
 *
 * @module
 */
import { HttpError } from "../errors.ts";

/** Streams one process keeps open; a stream costs a few KiB. */
export const LISTENERS = 10_000;

/** How many subscriptions this process carries, and no more. */
export class ListenerCount {
  #count = 0;

  /** @throws {HttpError} 503 when there are {@linkcode LISTENERS} already */
  take(): void {
    if (this.#count >= LISTENERS) {
      throw new HttpError(503, "Too many subscriptions", {
        "retry-after": "30",
      });
    }
    this.#count++;
  }

  release(): void {
    this.#count--;
  }
}
