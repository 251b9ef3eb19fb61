/**
 * A cache of recent reads: at most one second old, so that a record that ended
 * elsewhere is dead here within a second, and bounded, so that a flood of names
 * costs no memory.
 *
 * @module
 */
import { type Clock, systemClock } from "../clock.ts";

const FRESH_MILLISECONDS = 1000;

/** The time at which a read began, by both clocks. */
interface ReadTime {
  milliseconds: number;
  /** The time by a clock that goes on if the other one is set back. */
  steadyMilliseconds: number;
}

/** A read in progress, which others may share while it is fresh. */
interface Reading<T> extends ReadTime {
  promise: Promise<T | undefined>;
}

/** Reads by name with a small, short cache. */
interface Recent<T> {
  /** Gives the value, at once if it was read within the last second. */
  find(name: string): T | undefined | Promise<T | undefined>;
  /** Forgets a name: the next {@linkcode Recent.find} reads. */
  forget(name: string): void;
  readonly size: number;
}

/**
 * Caches the results of `read`. Simultaneous misses of one name share one read.
 * A name that was not found is not cached: it may exist the next moment.
 */
export function recent<T>(
  read: (name: string) => Promise<T | undefined>,
  { capacity = 10_000, clock = systemClock }: {
    capacity?: number;
    clock?: Clock;
  } = {},
): Recent<T> {
  const kept = new Map<string, ReadTime & { value: T }>();
  const reading = new Map<string, Reading<T>>();

  function startReading(name: string): Promise<T | undefined> {
    // Freshness counts from before the read, or it would last longer than a
    // second.
    const readTime = {
      milliseconds: clock(),
      steadyMilliseconds: performance.now(),
    };
    const promise = read(name).then((value) => {
      // Unless it was forgotten while it was being read.
      if (value !== undefined && reading.get(name) === mine) {
        kept.set(name, { value, ...readTime });
        dropOldest();
      }
      return value;
    }).finally(() => {
      if (reading.get(name) === mine) reading.delete(name);
    });
    const mine = { promise, ...readTime };
    reading.set(name, mine);
    return promise;
  }

  function isFresh({ milliseconds, steadyMilliseconds }: ReadTime): boolean {
    const age = clock() - milliseconds;
    return age >= 0 && age < FRESH_MILLISECONDS &&
      performance.now() - steadyMilliseconds < FRESH_MILLISECONDS;
  }

  /** Drops the oldest, which come first: a name is cached anew each time. */
  function dropOldest(): void {
    for (const [name, entry] of kept) {
      if (kept.size <= capacity && isFresh(entry)) return;
      kept.delete(name);
    }
  }

  return {
    find(name) {
      const entry = kept.get(name);
      if (entry !== undefined) {
        if (isFresh(entry)) return entry.value;
        kept.delete(name);
      }
      const begun = reading.get(name);
      // A read that began more than a second ago is not shared.
      if (begun !== undefined && isFresh(begun)) return begun.promise;
      return startReading(name);
    },
    forget(name) {
      kept.delete(name);
      reading.delete(name);
    },
    get size() {
      return kept.size;
    },
  };
}
