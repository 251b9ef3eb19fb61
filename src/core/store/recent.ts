/**
 * A cache of recent reads. A value is at most a second old, so that a record
 * that another process ended is gone within a second. The cache is bounded, so
 * that a flood of names cannot fill the memory.
 * @module
 */
import { LatestMap } from "../latest_map.ts";

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
export function recent<T>(read: (name: string) => Promise<T | undefined>) {
  const readings = new LatestMap<Reading<T>>();

  function startReading(name: string): Promise<T | undefined> {
    const startedMilliseconds = performance.now();
    const promise = read(name).then((value) => reading.value = value)
      .finally(() => {
        const isMissing = reading.value === undefined;
        if (isMissing && readings.get(name) === reading) readings.delete(name);
      });
    const reading: Reading<T> = { promise, startedMilliseconds };
    // Counted from before the read, so that a value is never older than a
    // second.
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
