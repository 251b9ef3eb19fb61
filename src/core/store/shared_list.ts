/**
 * A list that all processes share, in one value, so that its length is bounded
 * in any case. Each process collects new items, and writes them at most once a
 * second.
 *
 * @module
 */
import { type Logger, logRepeated } from "../log/log.ts";
import { outsideTrace } from "../telemetry/current.ts";
import type { Database, Expiring } from "../kv/database.ts";

const TRIES = 5;
const WRITE_MILLISECONDS = 1000;

interface SharedListOptions<T> {
  key: Deno.KvKey;
  /** The member of the value that has the list. */
  member: string;
  /** The time for which the list is stored after the last write. */
  keepSeconds: number;
  /** The warning in the log when the list cannot be written. */
  complaint: string;
  /** Adds items to a list, and keeps the list within its bounds. */
  add(known: readonly T[], added: readonly T[]): T[];
}

export function sharedList<T>(
  database: Database,
  log: Logger,
  { key, member, keepSeconds, complaint, add }: SharedListOptions<T>,
) {
  type ListRecord = Expiring & Record<string, readonly T[]>;
  let noted: T[] = [];
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  async function tryWrite(added: readonly T[]): Promise<boolean> {
    const entry = await database.get<ListRecord>(key);
    const record = {
      [member]: add(entry.value?.[member] ?? [], added),
      expiresAt: database.now() + keepSeconds,
    };
    return await database.commit((transaction) =>
      transaction.check(entry).set<Expiring>(key, record)
    ) !== undefined;
  }

  async function write(): Promise<void> {
    // Items that come meanwhile are written the next time, and counted once.
    const added = noted;
    noted = [];
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        if (await tryWrite(added)) return;
      }
      noted = add(added, noted);
      startTimer();
    } catch (error) {
      // The items may have been written: better to lose them than to count them
      // twice.
      logRepeated(log, complaint, { error });
    }
  }

  function startTimer(): void {
    if (isClosed) return;
    timer ??= outsideTrace(() => setTimeout(flush, WRITE_MILLISECONDS));
  }

  /** Writes the noted items, one write at a time. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (noted.length === 0) return writing;
    return writing = writing.then(write);
  }

  return {
    flush,

    /** Notes an item, and writes it within a second. */
    note(item: T): void {
      noted = add(noted, [item]);
      startTimer();
    },

    /** Reads the items that are written: one read. */
    async read(): Promise<readonly T[]> {
      return (await database.get<ListRecord>(key)).value?.[member] ?? [];
    },

    /** Writes the noted items; those that cannot be written are lost. */
    async close(): Promise<void> {
      isClosed = true;
      await flush();
    },
  };
}
