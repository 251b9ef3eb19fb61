/**
 * A map that remembers the names that were set last, each for a time. Strangers
 * can make up any number of names, so there is a bound on what a process keeps.
 *
 * @module
 */
const CAPACITY = 10_000;

interface Entry<T> {
  value: T;
  /** The time until which the value is returned, by `performance.now()`. */
  untilMilliseconds: number;
}

export class LatestMap<T> {
  /** The oldest first. */
  readonly #entries = new Map<string, Entry<T>>();

  constructor(private readonly capacity = CAPACITY) {}

  get(name: string): T | undefined {
    const entry = this.#entries.get(name);
    return entry && entry.untilMilliseconds > performance.now()
      ? entry.value
      : undefined;
  }

  /** Sets a value for a time, and drops the oldest that are over or too many. */
  set(name: string, value: T, milliseconds = Infinity): void {
    const now = performance.now();
    this.#entries.delete(name);
    for (const [oldest, { untilMilliseconds }] of this.#entries) {
      const isRoom = this.#entries.size < this.capacity;
      if (isRoom && untilMilliseconds > now) break;
      this.#entries.delete(oldest);
    }
    this.#entries.set(name, { value, untilMilliseconds: now + milliseconds });
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }

  get size(): number {
    return this.#entries.size;
  }
}
