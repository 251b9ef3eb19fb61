/**
 * Records that belong to an owner. The commit that writes a record also adds it
 * to the owner's list, so that all can be found and ended.
 *
 * @module
 */
import {
  type Database,
  type Expiring,
  type Found,
  isFound,
  type Transaction,
} from "./database.ts";
import type { KvKey } from "./kv.ts";

/**
 * The maximum number of records that one commit ends. Each takes 2 of the 1,000
 * mutations of a commit.
 */
export const ENDED_PER_COMMIT = 200;

/**
 * Splits items into parts of at most `size`, the last items first. If work on
 * the parts is interrupted, the first items remain, so that the work can be
 * repeated.
 */
export function inParts<T>(items: readonly T[], size: number): T[][] {
  const parts = [];
  for (let end = items.length; end > 0; end -= size) {
    parts.push(items.slice(Math.max(0, end - size), end));
  }
  return parts;
}

/** The lists of one kind of record. `L` is the type of an entry's value. */
export class OwnerList<T, L = Expiring> {
  /**
   * @param listKey returns the key of an owner's list
   * @param recordKey returns the key of a record from the key of its entry
   */
  constructor(
    private readonly database: Database,
    private readonly listKey: (owner: string) => KvKey,
    private readonly recordKey: (entry: KvKey) => KvKey,
  ) {}

  /** Yields the entries of a list, some at a time. */
  inParts(owner: string, perRead?: number): AsyncGenerator<Found<L>[]> {
    return this.database.listInParts<L>(this.listKey(owner), perRead);
  }

  /** Returns the entries that `isWanted` accepts. */
  async entries(
    owner: string,
    isWanted: (entry: Found<L>) => boolean = () => true,
  ): Promise<Found<L>[]> {
    const parts = await Array.fromAsync(this.inParts(owner));
    return parts.flat().filter(isWanted);
  }

  /**
   * Yields the live records whose entries `isWanted` accepts, some at a time.
   */
  async *records(
    owner: string,
    isWanted: (entry: Found<L>) => boolean = () => true,
  ): AsyncGenerator<Found<T>[]> {
    for await (const part of this.inParts(owner)) {
      const keys = part.filter(isWanted).map(({ key }) => this.recordKey(key));
      yield (await this.database.getMany<T[]>(keys)).filter(isFound);
    }
  }

  /** Ends the records of list entries, as part of a commit. */
  write(transaction: Transaction, entries: readonly { key: KvKey }[]): void {
    for (const { key } of entries) {
      transaction.delete(key).expire(this.recordKey(key));
    }
  }

  /** Ends the records of list entries, in as many commits as needed. */
  async end(
    entries: readonly { key: KvKey }[],
    commit = async (some: readonly { key: KvKey }[]): Promise<unknown> =>
      await this.database.commit((it) => this.write(it, some)),
  ): Promise<void> {
    await Promise.all(inParts(entries, ENDED_PER_COMMIT).map(commit));
  }
}
