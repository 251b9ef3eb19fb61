/**
 * The request bodies that are arriving, with one timer for all: a timer for
 * each would cost a call as much as reading its body.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";
import { HttpError } from "../errors.ts";
import { detached } from "../telemetry/current.ts";

/** The seconds for a whole body: 4 MiB need half a megabit per second. */
export const BODY_SECONDS = 60;
const LOOK_MILLISECONDS = 1000;

interface Arriving {
  sinceMilliseconds: number;
  giveUp(error: HttpError): void;
}

/** Bodies that are arriving at one server. */
export class ArrivingBodies {
  #arriving = new Set<Arriving>();
  #timer?: ReturnType<typeof setInterval>;

  constructor(private readonly clock: Clock = systemClock) {}

  /**
   * Waits for `reading`. On a time-out, Deno adds `Connection: close` to the
   * answer and leaves it to the client to hang up.
   *
   * @throws {HttpError} 408 when it takes longer than {@linkcode BODY_SECONDS}
   */
  wait<T>(reading: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const body = { sinceMilliseconds: this.clock(), giveUp: reject };
      this.#arriving.add(body);
      this.#timer ??= detached(() =>
        setInterval(() => this.#look(), LOOK_MILLISECONDS)
      );
      reading.then(
        (value) => {
          this.#arriving.delete(body);
          resolve(value);
        },
        (error) => {
          this.#arriving.delete(body);
          reject(error);
        },
      );
    });
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    if (this.#arriving.size === 0) return this.stop();
    const latest = this.clock() - BODY_SECONDS * 1000;
    for (const body of this.#arriving) {
      if (body.sinceMilliseconds > latest) continue;
      this.#arriving.delete(body);
      body.giveUp(
        new HttpError(408, `The body must arrive within ${BODY_SECONDS} s`),
      );
    }
  }
}
