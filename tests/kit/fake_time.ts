/**
 * Clocks that tests move forward. Only they are replaced: timers run.
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

/** A `performance.now()` that stands still until it is moved forward. */
export class SteadyTime implements Disposable {
  readonly #now = performance.now;
  #milliseconds = 1000;

  constructor() {
    performance.now = () => this.#milliseconds;
  }

  tick(milliseconds: number): void {
    this.#milliseconds += milliseconds;
  }

  [Symbol.dispose](): void {
    performance.now = this.#now;
  }
}
