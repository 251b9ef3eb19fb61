/**
 * What every store shares: reads that honour `expiresAt`, commits that
 * survive a busy database, and one error when it does not answer at all.
 *
 * @module
 */
import { now } from "../clock.ts";
import { StorageError } from "../errors.ts";

/** Every record in the database. `expiresAt` is in epoch seconds. */
export interface Expiring {
  expiresAt: number;
}

/** A live record and the version it was read at, for a later check. */
export interface Found<T> {
  value: T;
  versionstamp: string;
}

/** A page for people lists no more records than this. */
export const MAX_LISTED = 1000;

/**
 * `expireIn` for a record, in milliseconds. Collection is lazy (a record may
 * stay readable for a minute after it), so it is garbage collection only:
 * {@linkcode find} decides what is alive.
 */
export function expireIn({ expiresAt }: Expiring): { expireIn: number } {
  return { expireIn: Math.max(1, expiresAt * 1000 - Date.now()) };
}

/**
 * The live record under a key, or undefined when there is none or it has
 * expired.
 *
 * @throws {StorageError} when the database does not answer
 */
export async function find<T extends Expiring>(
  kv: Deno.Kv,
  key: Deno.KvKey,
): Promise<Found<T> | undefined> {
  const entry = await reach(() => kv.get<T>(key));
  return alive(entry);
}

/** {@linkcode find}'s judgement of an entry that was read some other way. */
export function alive<T extends Expiring>(
  entry: Deno.KvEntryMaybe<T>,
): Found<T> | undefined {
  const { value, versionstamp } = entry;
  if (value === null || value.expiresAt <= now()) return undefined;
  return { value, versionstamp: versionstamp! };
}

/**
 * Commits an atomic operation built by `build`; false when one of its checks
 * failed. A SQLite file shared by several processes answers "database is
 * locked" under load; the transaction has then rolled back whole, so the same
 * operation is tried again with jitter.
 *
 * @throws {StorageError} when the database does not answer
 */
export async function commit(
  kv: Deno.Kv,
  build: (operation: Deno.AtomicOperation) => Deno.AtomicOperation,
): Promise<boolean> {
  return (await reach(() => build(kv.atomic()).commit())).ok;
}

const ATTEMPTS = 200;

/**
 * Runs one database operation, again while the database is locked.
 *
 * @throws {StorageError} when it does not answer
 */
export async function reach<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await whileLocked(operation);
  } catch (cause) {
    throw new StorageError({ cause });
  }
}

/** Runs an operation again while it fails because the database is locked. */
export async function whileLocked<T>(operation: () => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (!isLocked(error) || attempt === ATTEMPTS) throw error;
      const milliseconds = Math.random() * Math.min(50, 2 * attempt);
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
    }
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && error.message.includes("is locked");
}
