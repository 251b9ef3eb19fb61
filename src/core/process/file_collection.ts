/**
 * Deletes expired records in the database file. Deno's own deletion ends the
 * process if it fails, as on a full disk. So ten thousand years are added to
 * each `expireIn`, and Deno never deletes the record.
 *
 * @module
 */
import type { DatabaseSync } from "node:sqlite";
import { pause } from "../clock.ts";
import type { Kv } from "../kv/kv.ts";

/** The time that is added to every `expireIn`. */
const LATER_MILLISECONDS = 10_000 * 365 * 24 * 60 * 60 * 1000;
/** The pause between two rounds of deletion. */
const PAUSE_MILLISECONDS = 10_000;
/**
 * The maximum number of rows that one statement deletes, which blocks the
 * thread for about 3 ms.
 */
const MAX_ROWS = 50;
/** The pause between two statements of a round. */
const BREATH_MILLISECONDS = 20;

/**
 * Deletes expired records that this server wrote: their expiry has a time added
 * to it. Deno itself deletes the records of other programs, which lack that
 * time.
 */
const DELETE_EXPIRED = `delete from kv where k in (
  select k from kv where expiration_ms between ? and ?
  order by expiration_ms limit ${MAX_ROWS})`;

/** Makes a database in a file delete expired records until it is closed. */
export function deleteExpiredRecords(
  kv: Deno.Kv & Pick<Kv, "checkPlace">,
  path: string,
  pauseMilliseconds = PAUSE_MILLISECONDS,
): void {
  const closing = new AbortController();
  let database: DatabaseSync | undefined;
  let isCollecting = false;

  async function open(): Promise<DatabaseSync> {
    const { DatabaseSync } = await import("node:sqlite");
    // Opening a file that was removed would make an empty one.
    await kv.checkPlace?.();
    closing.signal.throwIfAborted();
    database = new DatabaseSync(path);
    // Checkpoints, which may take long, are left to Deno's thread.
    database.exec(
      "PRAGMA busy_timeout = 0; PRAGMA synchronous = NORMAL; " +
        "PRAGMA wal_autocheckpoint = 0",
    );
    return database;
  }

  async function collect(): Promise<void> {
    if (isCollecting) return;
    isCollecting = true;
    try {
      const statement = (database ?? await open()).prepare(DELETE_EXPIRED);
      for (;;) {
        const until = LATER_MILLISECONDS + Date.now();
        const { changes } = statement.run(LATER_MILLISECONDS, until);
        if (Number(changes) < MAX_ROWS) break;
        await pause(BREATH_MILLISECONDS, closing.signal);
      }
    } catch {
      // The file is locked, the disk is full, or the handle is closed. The next
      // deletion deletes what is left.
    } finally {
      isCollecting = false;
    }
  }

  const collecting = setInterval(collect, pauseMilliseconds);
  Deno.unrefTimer(collecting);
  const [atomic, closeKv] = [kv.atomic.bind(kv), kv.close.bind(kv)];
  const close = () => {
    clearInterval(collecting);
    closing.abort();
    database?.close();
    database = undefined;
    closeKv();
  };
  Object.assign(kv, {
    atomic() {
      const operation = atomic();
      const set = operation.set.bind(operation);
      operation.set = (key, value, { expireIn } = {}) => {
        // Deno itself refuses a wrong number, such as a negative one.
        const isLater = expireIn !== undefined && expireIn >= 0;
        return set(key, value, {
          expireIn: isLater ? expireIn + LATER_MILLISECONDS : expireIn,
        });
      };
      return operation;
    },
    close,
    [Symbol.dispose]: close,
  });
}
