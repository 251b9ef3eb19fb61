/**
 * A check that the database responds.
 *
 * @module
 */
import type { Database } from "./database.ts";
import { probeKey } from "./keys.ts";

/** The time between two writes of the check. */
const WRITE_MILLISECONDS = 10_000;
const KEEP_SECONDS = 60;

/**
 * Makes a check that reads, and now and then writes, because a database on a
 * full disk still responds to reads. After a failed write every check writes,
 * until one succeeds. The check also fails if this process still has the old
 * database after it was replaced.
 */
export function makeProbe(database: Database): () => Promise<void> {
  let writtenMilliseconds = -Infinity;
  return async () => {
    await database.checkPlace();
    const time = performance.now();
    if (time - writtenMilliseconds < WRITE_MILLISECONDS) {
      await database.get(probeKey());
      return;
    }
    writtenMilliseconds = -Infinity;
    await database.commit((transaction) =>
      transaction.set(probeKey(), { expiresAt: database.now() + KEEP_SECONDS })
    );
    writtenMilliseconds = time;
  };
}
