/**
 * Transactions: checks and writes that are applied together or not at all. If a
 * response is lost, a client of a remote database sends the transaction again
 * by itself; its checks then fail because of its own writes. So after a failed
 * check the records are read, to see if this transaction wrote them.
 */
import { type Clock, pause } from "../clock.ts";
import type { StorageError } from "../errors.ts";
import type { CommitTry, Fence } from "./fence.ts";
import type { Kv, KvAtomic, KvCheck, KvCommit, KvKey } from "./kv.ts";
import { KvUsageError } from "./kv_error.ts";
import { fenceKey } from "./keys.ts";
import {
  isTransient,
  type Operations,
  PAUSE_MILLISECONDS,
  TRIES,
} from "./operations.ts";
import { type Expiring, type Marked, MAX_KEYS_PER_READ } from "./reader.ts";

/**
 * The maximum number of checks of a commit: denokv takes ten, of which the
 * fence uses one.
 */
export const MAX_CHECKS = 9;

/**
 * The minimum time for which a record is stored, so that its `mark` can show
 * that its commit was applied.
 */
const LEAST_MILLISECONDS = 60_000;

/**
 * The share of a record's lifetime by which its deletion is delayed at random.
 * Deno deletes all that expires at the same time in one statement, which blocks
 * other operations.
 */
const SPREAD = 1 / 8;

type Send = (
  operation: KvAtomic,
  mark: string,
  clock: Clock,
) => void;

export type Write = (transaction: Transaction) => unknown;

export function absent(key: KvKey): KvCheck {
  return { key, versionstamp: null };
}

/** Returns the milliseconds after which the database may delete a record. */
export function expireIn({ expiresAt }: Expiring, clock: Clock): number {
  const milliseconds = Math.max(
    LEAST_MILLISECONDS,
    expiresAt * 1000 - clock(),
  );
  return Math.round(milliseconds * (1 + Math.random() * SPREAD));
}

/** A transaction that a store composes. */
export class Transaction {
  /** The unique id of the last attempt to commit. */
  mark?: string;
  /** The keys of records that have the `mark` once an attempt was applied. */
  readonly markedKeys: KvKey[] = [];
  #checks: KvCheck[] = [];
  #writes: Send[] = [];

  get isEmpty(): boolean {
    return this.#writes.length === 0;
  }

  /** Makes the commit fail if an entry has changed since it was read. */
  check(...entries: KvCheck[]): this {
    for (const { key, versionstamp } of entries) {
      this.#checks.push({ key, versionstamp });
    }
    return this;
  }

  /** Writes a record; the commit fails if the key already exists. */
  create<T extends Expiring>(key: KvKey, record: T): this {
    return this.check(absent(key)).set(key, record);
  }

  /**
   * Writes a record, which the database deletes some time after it has expired.
   */
  set<T extends Expiring>(key: KvKey, record: T): this {
    if (this.markedKeys.length < MAX_KEYS_PER_READ) this.markedKeys.push(key);
    // The database deletes late, up to minutes after `expireIn`, so every read
    // checks `expiresAt`.
    this.#writes.push((operation, mark, clock) => {
      const value = { ...record, mark };
      operation.set(key, value, { expireIn: expireIn(record, clock) });
    });
    return this;
  }

  /** Writes a value that never expires. */
  setForever(key: KvKey, value: unknown): this {
    this.#writes.push((operation) => operation.set(key, value));
    return this;
  }

  /**
   * Ends a record: replaces it by one that has expired by every clock and is
   * deleted a little later. Unlike a deletion, this leaves a record with the
   * transaction's `mark`.
   */
  expire(key: KvKey): this {
    return this.set(key, { expiresAt: 0 });
  }

  /** Deletes records that no other transaction changes at the same time. */
  delete(...keys: KvKey[]): this {
    this.#writes.push((operation) => {
      for (const key of keys) operation.delete(key);
    });
    return this;
  }

  /** Sends the transaction to the database. */
  async commit(
    kv: Kv,
    { fence, mark }: CommitTry,
    clock: Clock,
  ): Promise<KvCommit> {
    this.mark = mark;
    if (this.#checks.length > MAX_CHECKS) {
      throw new KvUsageError(`Too many checks (max ${MAX_CHECKS})`);
    }
    const operation = kv.atomic()
      .check(absent(fenceKey(fence)), ...this.#checks);
    for (const write of this.#writes) write(operation, mark, clock);
    return await operation.commit();
  }
}

export class Commits {
  constructor(
    private readonly kv: Kv,
    private readonly operations: Operations,
    private readonly fence: Fence,
    private readonly clock: Clock,
  ) {}

  /**
   * Commits a transaction, see {@linkcode
   * import("./database.ts").Database.commit}.
   */
  commit(transaction: Transaction): Promise<string | undefined> {
    return this.operations.whole(() => this.#commit(transaction));
  }

  async #commit(transaction: Transaction): Promise<string | undefined> {
    for (let tries = 1;;) {
      if (this.fence.isDue) await this.fence.settle();
      const commitTry = this.fence.begin();
      let isSent = false;
      try {
        const result = await this.operations.run(() => {
          isSent = true;
          return transaction.commit(this.kv, commitTry, this.clock);
        });
        if (result.ok) return result.versionstamp;
      } catch (error) {
        if (!isTransient(error)) throw error;
        if (isSent) {
          const applied = await this.#settled(transaction, commitTry, error);
          if (applied) return applied;
        }
        if (tries === TRIES) throw error;
        await pause(tries++ * PAUSE_MILLISECONDS);
        continue;
      }
      const applied = await this.#versionOf(transaction, commitTry)
        .catch((error) => {
          this.fence.owe(commitTry);
          throw error;
        });
      // Tried again if only the check of the fence has failed.
      if (applied || !this.fence.isClosedTo(commitTry)) return applied;
    }
  }

  /**
   * Makes sure that a failed attempt can no longer be applied. Returns its
   * version if it was applied before; otherwise undefined.
   *
   * @throws the `error` of the attempt, if the database does not respond
   */
  async #settled(
    transaction: Transaction,
    commitTry: CommitTry,
    error: StorageError,
  ): Promise<string | undefined> {
    this.fence.giveUp(commitTry);
    try {
      await this.fence.settle();
      return await this.#versionOf(transaction, commitTry);
    } catch {
      this.fence.owe(commitTry);
      throw error;
    }
  }

  /**
   * Returns the version of an attempt that was applied; undefined if it was
   * not.
   */
  async #versionOf(
    { markedKeys }: Transaction,
    { mark }: CommitTry,
  ): Promise<string | undefined> {
    if (markedKeys.length === 0) return undefined;
    const entries = await this.operations.repeat(() =>
      this.kv.getMany(markedKeys)
    );
    return entries.find(({ value }) => (value as Marked | null)?.mark === mark)
      ?.versionstamp ?? undefined;
  }
}
