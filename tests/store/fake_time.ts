/**
 * A clock that tests turn forward. Only `Date.now` is replaced: timers run.
 *
 * @module
 */

/** Moves the present until it is disposed of. */
export class FakeTime implements Disposable {
  readonly #now = Date.now;
  #shiftMilliseconds = 0;

  constructor() {
    Date.now = () => this.#now() + this.#shiftMilliseconds;
  }

  /** Turns the clock forward. */
  tick(seconds: number): void {
    this.#shiftMilliseconds += seconds * 1000;
  }

  [Symbol.dispose](): void {
    Date.now = this.#now;
  }
}
