/**
 * Values kept in the memory of this process: the latest ones by name, recent
 * reads of records, and values that are made once. Every map is bounded,
 * because clients can make up any number of names.
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

const FRESH_MILLISECONDS = 1000;

/** A read that is in progress or has ended. */
interface Reading<T> {
  promise: Promise<T | undefined>;
  value?: T;
  /** The time at which the read began, by `performance.now()`. */
  startedMilliseconds: number;
}

/**
 * Caches the results of `read`. Simultaneous reads of one name share one call.
 * A name that was not found is not cached, because it may exist a moment later.
 */
export function recentReads<T>(read: (name: string) => Promise<T | undefined>) {
  const readings = new LatestMap<Reading<T>>();

  function startReading(name: string): Promise<T | undefined> {
    const startedMilliseconds = performance.now();
    const promise = read(name).then((value) => reading.value = value)
      .finally(() => {
        const isMissing = reading.value === undefined;
        if (isMissing && readings.get(name) === reading) readings.delete(name);
      });
    const reading: Reading<T> = { promise, startedMilliseconds };
    // The second is counted from before the read, so that no value is older.
    readings.set(name, reading, FRESH_MILLISECONDS);
    return promise;
  }

  return {
    /**
     * Returns the value, without a promise if it was read within the last
     * second.
     */
    find(name: string): T | undefined | Promise<T | undefined> {
      const reading = readings.get(name);
      return reading ? reading.value ?? reading.promise : startReading(name);
    },
    /**
     * Starts to read a name that will be needed, unless a read of it began
     * within the last half second. An error reaches only the code that calls
     * `find`.
     */
    readAhead(name: string): void {
      const { startedMilliseconds = -Infinity } = readings.get(name) ?? {};
      const age = performance.now() - startedMilliseconds;
      if (age >= FRESH_MILLISECONDS / 2) startReading(name).catch(() => {});
    },
    /** Removes a name from the cache, so that the next `find` reads it. */
    forget(name: string): void {
      readings.delete(name);
    },
    get size(): number {
      return readings.size;
    },
  };
}

/**
 * Makes a function that calls `make` once and shares the result with all calls.
 * After a failure the next call tries again. Also used for modules, because
 * each `import()` takes as long as a tool call.
 */
export function makeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () =>
    making ??= make().catch((error) => {
      making = undefined;
      throw error;
    });
}
