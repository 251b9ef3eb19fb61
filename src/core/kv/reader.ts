/**
 * Reads of stored records, and the members that all records have. A read
 * returns only live records, each with its version.
 *
 * @module
 */
import { type Clock, now } from "../clock.ts";
import type { Fence, Operations } from "./operations.ts";
import { rangeOf } from "./keys.ts";
import type { Kv, KvEntryMaybe, KvKey, KvSelector } from "./kv.ts";

/** A record that expires. `expiresAt` is in epoch seconds. */
export interface Expiring {
  expiresAt: number;
}

/** A record with the mark that every commit adds, and every read removes. */
export interface Marked {
  /** The unique id of the commit that wrote the record. */
  mark?: string;
}

/**
 * The result of a read. Its version can be checked even if there is no live
 * value.
 */
export interface Entry<T> {
  key: KvKey;
  value: T | undefined;
  versionstamp: string | null;
  /** The unique id of the commit that wrote the record, if it has one. */
  mark?: string;
}

/** A live record, with the version that was read, for a later check. */
export interface Found<T> {
  key: KvKey;
  value: T;
  versionstamp: string;
  mark?: string;
}

export interface KeyRange {
  start: KvKey;
  end: KvKey;
}

/** True if an entry has a live value. */
export function isFound<T>(entry: Entry<T>): entry is Found<T> {
  return entry.value !== undefined;
}

/** Returns a record as a store wrote it; undefined if it has expired. */
function readRecord<T>(record: unknown, now: number): T | undefined {
  if (!isExpiring(record)) return record as T;
  if (record.expiresAt <= now) return undefined;
  const { mark: _mark, ...own } = record;
  return own as T;
}

/** True for a record that expires; secrets and change counters do not. */
export function isExpiring(value: unknown): value is Expiring & Marked {
  return typeof value === "object" && value !== null && "expiresAt" in value;
}

/** The maximum number of keys of one `getMany` of the database. */
export const MAX_KEYS_PER_READ = 10;

const RECORDS_PER_READ = 500;

export class Reader {
  constructor(
    protected readonly kv: Kv,
    readonly clock: Clock,
    protected readonly operations: Operations,
    protected readonly fence: Fence,
  ) {}

  now(): number {
    return now(this.clock);
  }

  /** Reads a key. @throws {StorageError} */
  async get<T>(key: KvKey): Promise<Entry<T>> {
    return this.entry<T>(await this.operations.repeat(() => this.kv.get(key)));
  }

  /** Finds the live record under a key. @throws {StorageError} */
  async find<T>(key: KvKey): Promise<Found<T> | undefined> {
    const entry = await this.get<T>(key);
    return isFound(entry) ? entry : undefined;
  }

  /** Reads several keys concurrently. @throws {StorageError} */
  async getMany<T extends readonly unknown[]>(
    keys: readonly KvKey[],
  ): Promise<{ [K in keyof T]: Entry<T[K]> }> {
    const reads = [];
    for (let start = 0; start < keys.length; start += MAX_KEYS_PER_READ) {
      const some = keys.slice(start, start + MAX_KEYS_PER_READ);
      reads.push(
        this.operations.repeat(() => this.kv.getMany(some)),
      );
    }
    const entries = (await Promise.all(reads)).flat();
    return entries.map((entry) => this.entry(entry)) as {
      [K in keyof T]: Entry<T[K]>;
    };
  }

  /**
   * Lists the live records under a prefix, in the order of their keys.
   *
   * @throws {StorageError}
   */
  async list<T>(
    prefix: KvKey,
    { limit }: { limit?: number } = {},
  ): Promise<Found<T>[]> {
    const entries = await this.#listed<T>({ prefix }, limit);
    return entries.filter(isFound);
  }

  /**
   * Reads the next records of a range. Returns the live ones. `last` is the key
   * of the last record that was read; undefined if there are no more records.
   *
   * @throws {StorageError}
   */
  async listSome<T>(
    range: KeyRange,
    limit: number,
  ): Promise<{ found: Found<T>[]; last?: KvKey }> {
    const entries = await this.#listed<T>(range, limit);
    return {
      found: entries.filter(isFound),
      last: entries.length < limit ? undefined : entries.at(-1)?.key,
    };
  }

  /** Yields the live records of a list, some at a time. */
  listInParts<T>(list: KvKey, perRead?: number): AsyncGenerator<Found<T>[]> {
    return this.rangeInParts<T>(rangeOf(list), perRead);
  }

  /** Yields the live records of a range of keys, some at a time. */
  async *rangeInParts<T>(
    range: KeyRange,
    perRead = RECORDS_PER_READ,
  ): AsyncGenerator<Found<T>[]> {
    for (;;) {
      const { found, last } = await this.listSome<T>(range, perRead);
      yield found;
      if (!last) return;
      range = { ...range, start: [...last, ""] };
    }
  }

  async #listed<T>(
    selector: KvSelector,
    limit?: number,
  ): Promise<Entry<T>[]> {
    const entries = await this.operations.repeat(() =>
      Array.fromAsync(
        this.kv.list(selector, { limit, batchSize: RECORDS_PER_READ }),
      )
    );
    return entries.map((entry) => this.entry<T>(entry));
  }

  /** Makes the entry for a record that was read. */
  protected entry<T>(entry: KvEntryMaybe): Entry<T> {
    const { key, versionstamp } = entry;
    if (entry.value === null) return { key, value: undefined, versionstamp };
    const value = readRecord<T>(entry.value, this.now());
    const { mark } = entry.value as Marked;
    if (mark !== undefined) this.fence.compareClocks(mark);
    return { key, value, versionstamp, mark };
  }
}
