/**
 * A SQLite file shared by several processes answers "database is locked" under
 * load. The operation has then not happened, so it is tried again.
 *
 * @module
 */
import { pause } from "../clock.ts";

/** Runs an operation again, with jitter, while the database is locked. */
export async function whileLocked<T>(
  operation: () => Promise<T>,
  milliseconds = 5000,
): Promise<T> {
  const until = performance.now() + milliseconds;
  for (let attempt = 1;; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (!isLocked(error) || performance.now() > until) throw error;
      await pause(Math.random() * Math.min(50, 2 * attempt));
    }
  }
}

/** True if a database was locked: the operation was not carried out. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && error.message.includes("is locked");
}
