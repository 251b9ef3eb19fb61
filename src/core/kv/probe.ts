/**
 * A check that the database answers.
 *
 * @module
 */
import type { Database } from "./database.ts";
import { probeKey } from "./keys.ts";

/** The pause between two writes: a full disk is noticed after it. */
const WRITE_MILLISECONDS = 10_000;
const KEEP_SECONDS = 60;

/**
 * A probe that reads, and now and then writes, because a database on a full
 * disk still answers reads. After a failed write every call writes, until one
 * succeeds. It also fails if other processes now find another database at the
 * same place.
 */
export function probe(database: Database): () => Promise<void> {
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
