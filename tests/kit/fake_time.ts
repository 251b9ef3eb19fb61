/**
 * Clocks that tests move forward. Only they are replaced: timers run.
 *
 * @module
 */

/** A clock that stands still until it is disposed of, whatever the machine does. */
abstract class StandingClock implements Disposable {
  readonly #now: () => number;

  constructor(
    private readonly clock: { now(): number },
    private milliseconds: number,
  ) {
    this.#now = clock.now;
    clock.now = () => this.milliseconds;
  }

  /** Moves the clock forward. */
  tick(seconds: number): void {
    this.milliseconds += seconds * 1000;
  }

  [Symbol.dispose](): void {
    this.clock.now = this.#now;
  }
}

/** The time of day, `Date.now()`. */
export class FakeTime extends StandingClock {
  constructor() {
    super(Date, Date.now());
  }
}

/** The time since the start, `performance.now()`. */
export class SteadyTime extends StandingClock {
  constructor() {
    super(performance, 1000);
  }
}
