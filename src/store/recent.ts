/**
 * What was read a moment ago: at most one second old, so that what was ended
 * elsewhere is dead here within that second, and bounded, so that a flood of
 * names costs no memory.
 *
 * @module
 */

const FRESH_MILLISECONDS = 1000;

/** A read on its way, and how long others may share it. */
interface Reading<T> {
  promise: Promise<T | undefined>;
  until: number;
}

/** Reads by name through a small, short memory. */
export interface Recent<T> {
  /** The value, at once if it was read within the last second. */
  find(name: string): T | undefined | Promise<T | undefined>;
  /** Forgets a name: the next {@linkcode Recent.find} reads. */
  forget(name: string): void;
  readonly size: number;
}

/**
 * Keeps what `read` finds. Simultaneous misses of one name share one read, and
 * a name that was not found is not kept: it may be made the next moment.
 */
export function recent<T>(
  read: (name: string) => Promise<T | undefined>,
  { capacity = 10_000 }: { capacity?: number } = {},
): Recent<T> {
  const kept = new Map<string, { value: T; until: number }>();
  const reading = new Map<string, Reading<T>>();

  function startReading(name: string): Promise<T | undefined> {
    // Freshness counts from before the read, or it would outlast its second.
    const until = Date.now() + FRESH_MILLISECONDS;
    const promise = read(name).then((value) => {
      // Unless it was forgotten while it was being read.
      if (value !== undefined && reading.get(name) === mine) {
        kept.set(name, { value, until });
        dropOldest();
      }
      return value;
    }).finally(() => {
      if (reading.get(name) === mine) reading.delete(name);
    });
    const mine = { promise, until };
    reading.set(name, mine);
    return promise;
  }

  /** The oldest come first: a name that is kept again was deleted before. */
  function dropOldest(): void {
    const time = Date.now();
    for (const [name, { until }] of kept) {
      if (kept.size <= capacity && time < until) return;
      kept.delete(name);
    }
  }

  return {
    find(name) {
      const entry = kept.get(name);
      if (entry !== undefined) {
        if (Date.now() < entry.until) return entry.value;
        kept.delete(name);
      }
      const begun = reading.get(name);
      // A read that hangs is no excuse for what comes after its second.
      if (begun !== undefined && Date.now() < begun.until) return begun.promise;
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
