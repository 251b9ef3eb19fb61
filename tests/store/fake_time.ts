/**
 * A clock that tests move forward. Only `Date.now` is replaced: timers run.
 *
 * @module
 */

/**
 * The time, which stands still until it is disposed of, whatever the machine
 * does.
 */
export class FakeTime implements Disposable {
  readonly #now = Date.now;
  #milliseconds = Date.now();

  constructor() {
    Date.now = () => this.#milliseconds;
  }

  /** Moves the clock forward. */
  tick(seconds: number): void {
    this.#milliseconds += seconds * 1000;
  }

  [Symbol.dispose](): void {
    Date.now = this.#now;
  }
}
