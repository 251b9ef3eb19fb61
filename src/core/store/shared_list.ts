/**
 * A list that all processes share, stored in one value, so that its length is
 * always limited. Each process collects new items, and writes them at most once
 * a second.
 * @module
 */
import { type Logger, logRepeated } from "../log/log.ts";
import { outsideTrace } from "../telemetry/current.ts";
import type { Database, Expiring } from "../kv/database.ts";

const TRIES = 5;
const WRITE_MILLISECONDS = 1000;

interface SharedListOptions<T> {
  key: Deno.KvKey;
  /** The member of the stored value that contains the list. */
  member: string;
  /** The time for which the list is stored after the last write. */
  keepSeconds: number;
  /** The log message if the list cannot be written. */
  complaint: string;
  /** Returns the list with added items, within its bounds. */
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
    // Items that come during a write are written the next time.
    const added = noted;
    noted = [];
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        if (await tryWrite(added)) return;
      }
      noted = add(added, noted);
      startTimer();
    } catch (error) {
      // The items may have been written: losing them is better than counting
      // them twice.
      logRepeated(log, complaint, { error });
    }
  }

  function startTimer(): void {
    if (isClosed) return;
    timer ??= outsideTrace(() => setTimeout(flush, WRITE_MILLISECONDS));
  }

  /** Writes the collected items, one write at a time. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (noted.length === 0) return writing;
    return writing = writing.then(write);
  }

  return {
    flush,

    /** Collects an item, which is written within a second. */
    note(item: T): void {
      noted = add(noted, [item]);
      startTimer();
    },

    async read(): Promise<readonly T[]> {
      return (await database.get<ListRecord>(key)).value?.[member] ?? [];
    },

    /** Writes the collected items. If that fails, they are lost. */
    async close(): Promise<void> {
      isClosed = true;
      await flush();
    },
  };
}
