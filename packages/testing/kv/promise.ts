/**
 * One requirement for a database, with the check that a handle fulfils it; and
 * the functions that checks share.
 *
 * @module
 */
import assert from "node:assert/strict";
import type { Kv, KvAtomic, KvCommit, KvKey } from "../../../src/core/kv/kv.ts";
import { kvErrorOf, KvLockedError } from "../../../src/core/kv/kv_error.ts";

/** Two handles on one empty database, as two processes would have them. */
export interface KvHandles {
  /** The handle of one process. */
  kv: Kv;
  /**
   * The handle of another process; the same one if the database has only one.
   */
  other: Kv;
}

/** A requirement for a database. */
export interface KvPromise {
  /** The requirement, as the name of a test. */
  name: string;
  /**
   * Checks the requirement. The check may close `kv`.
   *
   * @throws {Error} if the database does not fulfil it
   */
  check(handles: KvHandles): Promise<void>;
}

/** The maximum pause before a commit is sent again. */
const MAX_PAUSE_MILLISECONDS = 20;

/** Sends a commit, and repeats it while the database is locked. */
export async function commit(build: () => KvAtomic): Promise<KvCommit> {
  for (;;) {
    try {
      return await build().commit();
    } catch (error) {
      if (!(kvErrorOf(error) instanceof KvLockedError)) throw error;
      await pause(Math.random() * MAX_PAUSE_MILLISECONDS);
    }
  }
}

/** Writes a value, and returns the version of its record. */
export async function write(
  kv: Kv,
  key: KvKey,
  value: unknown,
  options?: { expireIn?: number },
): Promise<string> {
  const result = await commit(() => kv.atomic().set(key, value, options));
  assert(result.ok, "a commit without checks was answered with ok: false");
  return result.versionstamp;
}

/** Reads the value under a key. */
export async function read(kv: Kv, key: KvKey): Promise<unknown> {
  return (await kv.get(key)).value;
}

/** Asserts that an operation rejects with an error of this class. */
export async function refused(
  operation: () => Promise<unknown>,
  kind: new (message: string) => Error,
): Promise<void> {
  const error = await operation().then(
    () => assert.fail(`was not refused with ${kind.name}`),
    kvErrorOf,
  );
  assert(error instanceof kind, `${error} is no ${kind.name}`);
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
