/**
 * A map that keeps the names that were set last, each for some time. Its size
 * is bounded, because clients can make up any number of names.
 * @module
 */
const CAPACITY = 10_000;

interface Entry<T> {
  value: T;
  /** The time until which the value is returned, by `performance.now()`. */
  untilMilliseconds: number;
}

export class LatestMap<T> {
  /** The entries, the oldest first. */
  readonly #entries = new Map<string, Entry<T>>();

  constructor(private readonly capacity = CAPACITY) {}

  get(name: string): T | undefined {
    const entry = this.#entries.get(name);
    return entry && entry.untilMilliseconds > performance.now()
      ? entry.value
      : undefined;
  }

  /**
   * Sets a value for some time. Drops old entries if they have expired, or are
   * too many.
   */
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

  /** Lists the values that {@linkcode get} returns. */
  values(): T[] {
    const names = [...this.#entries.keys()];
    return names.map((name) => this.get(name)).filter((it) => it !== undefined);
  }

  delete(name: string): void {
    this.#entries.delete(name);
  }

  get size(): number {
    return this.#entries.size;
  }
}
