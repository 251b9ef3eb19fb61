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

/** Both clocks, which go on as ever, and can be moved forward. */
export class MovedTime implements Disposable {
  readonly #real = [
    { clock: Date, now: Date.now },
    { clock: performance, now: performance.now.bind(performance) },
  ];
  #milliseconds = 0;

  constructor() {
    for (const { clock, now } of this.#real) {
      clock.now = () => now() + this.#milliseconds;
    }
  }

  /** Moves the clocks forward. */
  tick(seconds: number): void {
    this.#milliseconds += seconds * 1000;
  }

  [Symbol.dispose](): void {
    Date.now = this.#real[0].now;
    // Its own method is the one of its class.
    delete (performance as { now?: unknown }).now;
  }
}
