/**
 * The contract of the database: the part of Deno KV that the stores use, and
 * all that they rely on. Deno's own databases fulfil it: a file, one in memory,
 * and a denokv server. Any other database that fulfils it can be used instead;
 * the checks of `@tool-server/tool-server/testing/kv` show if it does.
 * @module
 * @see https://docs.deno.com/api/deno/~/Deno.Kv
 */

/**
 * A key, of at most 2 KiB. The stores use bytes, strings, numbers (`Infinity`
 * too) and booleans; an implementation may refuse the others.
 */
export type KvKey =
  readonly (Uint8Array | string | number | bigint | boolean | symbol)[];

/** A record under a key. */
export interface KvEntry {
  /** The key that was read. */
  key: KvKey;
  /** A structured clone of what was written. */
  value: unknown;
  /**
   * The version of the record, set by the commit that wrote it. No version is
   * used twice, not even after a record was deleted. Versions are only compared
   * for equality.
   */
  versionstamp: string;
}

/** A key without a record. */
export interface KvMissing {
  /** The key that was read. */
  key: KvKey;
  /** Null: the key has no record. */
  value: null;
  /** Null. A check with this version requires that there is no record. */
  versionstamp: null;
}

/** A read of a key: its record, or none. */
export type KvEntryMaybe = KvEntry | KvMissing;

/** The records that a list selects. */
export type KvSelector =
  /** All keys that begin with this one and are longer. */
  | { prefix: KvKey }
  /** All keys from `start` on and before `end`. */
  | { start: KvKey; end: KvKey };

/** The bounds of a list. */
export interface KvListOptions {
  /** The maximum number of records that are listed; all by default. */
  limit?: number;
  /** The maximum number of records of one round trip: up to 500. */
  batchSize?: number;
}

/** A condition of a commit: the key still has this version. */
export interface KvCheck {
  /** The key. */
  key: KvKey;
  /**
   * The version that the record must have; null requires that there is no
   * record.
   */
  versionstamp: string | null;
}

/** The result of a commit. `ok` is false only if a check failed. */
export type KvCommit = { ok: true; versionstamp: string } | { ok: false };

/** Checks and writes that happen in one step, or not at all. */
export interface KvAtomic {
  /** Adds conditions: at most ten in a commit, the maximum of denokv. */
  check(...checks: KvCheck[]): KvAtomic;
  /**
   * Adds a write, of at most 64 KiB; a commit has at most 1,000 writes and
   * deletions, and 800 KiB. The last write of a key wins.
   *
   * @param options `expireIn` is in milliseconds, from when the database
   * receives the commit. Some time after that, the record is deleted
   */
  set(key: KvKey, value: unknown, options?: { expireIn?: number }): KvAtomic;
  /** Adds a deletion. */
  delete(key: KvKey): KvAtomic;
  /**
   * Applies all writes in one serializable step if every check holds. Otherwise
   * it writes nothing. No other commit comes between the checks and the writes,
   * even to a checked key that is not written. Once the promise resolves, every
   * process can read the writes, and they survive a crash of the database.
   *
   * **A commit whose promise never settles may still be applied later. But once
   * a write to a key is acknowledged, no commit that checks this key to be
   * absent may be applied any more.** {@linkcode import("./operations.ts").Fence}
   * relies on this.
   *
   * A refused commit rejects this promise and writes nothing. `set` throws only
   * for a value that cannot be cloned.
   * @throws {KvUsageError} for arguments beyond the limits
   * @throws {KvLockedError} if it was not applied and may be sent again
   * @throws {KvClosedError} after `close()`
   * @throws {Error} any other error: it is not known if it was applied
   */
  commit(): Promise<KvCommit>;
}

/** An open database. All code of a process shares one. */
export interface Kv {
  /**
   * True if `watch` sees the commits of other processes. Without it, their
   * commits are found by polling. `Deno.openKv()` does not set it, even for a
   * denokv server and on Deno Deploy.
   */
  readonly isRemote?: boolean;
  /**
   * Rejects if this process still has the old database after it was replaced,
   * for example after its file was removed. Then `/ready` responds with 503.
   */
  checkPlace?(): Promise<void>;
  /**
   * Reads a key. Sees every commit that was acknowledged to any process. May
   * return an expired record until it is deleted; checks see that record, too.
   */
  get(key: KvKey): Promise<KvEntryMaybe>;
  /**
   * Reads at most ten keys, which may repeat, from one snapshot.
   *
   * @returns an entry for each key, in the same order
   */
  getMany(keys: readonly KvKey[]): Promise<KvEntryMaybe[]>;
  /**
   * Lists records in the order of keys, part by part: bytes before strings,
   * strings before numbers, numbers before booleans. Strings are ordered by
   * their bytes in UTF-8. Each batch may be a snapshot of its own.
   */
  list(selector: KvSelector, options?: KvListOptions): AsyncIterable<KvEntry>;
  /** Begins a commit. */
  atomic(): KvAtomic;
  /**
   * Streams the present entries of keys, then the newest entries after each
   * change. Entries in between may be left out. The stream may end or fail at
   * any time, so a caller that needs a change polls as well.
   */
  watch(keys: readonly KvKey[]): ReadableStream<KvEntryMaybe[]>;
  /** Closes the database: its watches end, and later operations are refused. */
  close(): void;
}
