/**
 * A cache of recent reads: at most one second old, so that a record that ended
 * elsewhere is dead here within a second, and bounded, so that a flood of names
 * costs no memory.
 *
 * @module
 */
const FRESH_MILLISECONDS = 1000;
const CAPACITY = 10_000;

/** A read, under way or over. */
interface Reading<T> {
  promise: Promise<T | undefined>;
  value?: T;
  /** The time at which the read began, by `performance.now()`. */
  startedMilliseconds: number;
}

/**
 * Caches the results of `read`. Simultaneous misses of one name share one read.
 * A name that was not found is not cached: it may exist the next moment.
 */
export function recent<T>(read: (name: string) => Promise<T | undefined>) {
  /** The oldest first: a name that is read anew comes last. */
  const readings = new Map<string, Reading<T>>();

  function startReading(name: string): Promise<T | undefined> {
    // Freshness counts from before the read, or it would last longer than a
    // second.
    const startedMilliseconds = performance.now();
    const promise = read(name).then((value) => reading.value = value)
      .finally(() => {
        const isMissing = reading.value === undefined;
        if (isMissing && readings.get(name) === reading) readings.delete(name);
        dropOldest();
      });
    const reading: Reading<T> = { promise, startedMilliseconds };
    readings.delete(name);
    readings.set(name, reading);
    return promise;
  }

  function isFresh(
    reading: Reading<T>,
    milliseconds = FRESH_MILLISECONDS,
  ): boolean {
    const age = performance.now() - reading.startedMilliseconds;
    return age < milliseconds;
  }

  function dropOldest(): void {
    for (const [name, reading] of readings) {
      if (readings.size <= CAPACITY && isFresh(reading)) return;
      readings.delete(name);
    }
  }

  return {
    /** Returns the value, at once if it was read within the last second. */
    find(name: string): T | undefined | Promise<T | undefined> {
      const reading = readings.get(name);
      return reading && isFresh(reading)
        ? reading.value ?? reading.promise
        : startReading(name);
    },
    /**
     * Begins to read a name that will be needed, unless that began within half a second.
     * A failure is met by the code that needs it.
     */
    readAhead(name: string): void {
      const reading = readings.get(name);
      if (reading && isFresh(reading, FRESH_MILLISECONDS / 2)) return;
      startReading(name).catch(() => {});
    },
    /** Forgets a name: the next `find` reads. */
    forget(name: string): void {
      readings.delete(name);
    },
    get size(): number {
      return readings.size;
    },
  };
}
