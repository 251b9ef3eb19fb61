/**
 * Clocks that tests move. Only the clocks are replaced: timers run.
 *
 * @module
 */

/** A clock that stands still until it is disposed of, whatever the machine does. */
class StandingClock implements Disposable {
  protected readonly go: () => number;
  #milliseconds: number;

  constructor(protected readonly clock: { now(): number }) {
    this.go = clock.now.bind(clock);
    this.#milliseconds = Math.round(clock.now());
    clock.now = () => this.#milliseconds;
  }

  /** Moves the clock forward. */
  tick(seconds: number): void {
    this.#milliseconds += seconds * 1000;
  }

  [Symbol.dispose](): void {
    this.clock.now = this.go;
  }
}

/** The time since the start, `performance.now()`, which no one can set. */
export class SteadyTime extends StandingClock {
  constructor() {
    super(performance);
  }

  /** Lets the clock go on from the time that it shows: it never goes back. */
  override [Symbol.dispose](): void {
    const { go } = this;
    const ahead = Math.max(0, this.clock.now() - go());
    this.clock.now = () => go() + ahead;
  }
}

/** The time of day and the time since the start, both stopped. */
export class FakeTime implements Disposable {
  readonly #steady = new SteadyTime();
  readonly #day = new StandingClock(Date);

  /** Lets time pass. */
  tick(seconds: number): void {
    this.#steady.tick(seconds);
    this.#day.tick(seconds);
  }

  /** Sets the time of day forward, or back, while no time passes. */
  set(seconds: number): void {
    this.#day.tick(seconds);
  }

  [Symbol.dispose](): void {
    this.#day[Symbol.dispose]();
    this.#steady[Symbol.dispose]();
  }
}

/**
 * The time of day and the time since the start: both go on, and can be moved
 * forward.
 */
export class MovedTime implements Disposable {
  readonly #day = Date.now;
  readonly #steady = performance.now.bind(performance);
  #milliseconds = 0;

  constructor() {
    Date.now = () => this.#day() + this.#milliseconds;
    performance.now = () => this.#steady() + this.#milliseconds;
  }

  /** Moves the clocks forward. */
  tick(seconds: number): void {
    this.#milliseconds += seconds * 1000;
  }

  /** Leaves the time since the start where it is: it never goes back. */
  [Symbol.dispose](): void {
    Date.now = this.#day;
  }
}
