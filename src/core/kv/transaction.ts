/**
 * Checks and writes that happen together or not at all, and their commits,
 * which notice that an earlier try of theirs was applied. A lost answer is no
 * failure: a remote client repeats the transaction by itself, and its checks
 * then fail because of its own writes. So the records are read again to see if
 * they are this transaction's.
 *
 * @module
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

/** The most checks of a commit: a denokv server takes the fence and nine. */
export const MAX_CHECKS = 9;

/**
 * The least time for which a record stays, so that its commit can find its
 * mark.
 */
const LEAST_MILLISECONDS = 60_000;

/**
 * The collection of a record is put off by up to this share of its life. Deno
 * collects in one statement what expires together, and everything waits for it.
 */
const SPREAD = 1 / 8;

type Send = (
  operation: KvAtomic,
  mark: string,
  clock: Clock,
) => void;

export type Write = (transaction: Transaction) => unknown;

/** Makes a check that nothing is under a key. */
export function absent(key: KvKey): KvCheck {
  return { key, versionstamp: null };
}

/** Returns the milliseconds after which the database may collect a record. */
export function expireIn({ expiresAt }: Expiring, clock: Clock): number {
  const milliseconds = Math.max(
    LEAST_MILLISECONDS,
    expiresAt * 1000 - clock(),
  );
  return Math.round(milliseconds * (1 + Math.random() * SPREAD));
}

/** A transaction that a store puts together. */
export class Transaction {
  /** The mark of the last try to commit. */
  mark?: string;
  /** The keys under which the mark of an applied try is found. */
  readonly markedKeys: KvKey[] = [];
  #checks: KvCheck[] = [];
  #writes: Send[] = [];

  /** True if the transaction has checks, but no writes. */
  get isEmpty(): boolean {
    return this.#writes.length === 0;
  }

  /** Makes the commit fail if one of these has changed since it was read. */
  check(...entries: KvCheck[]): this {
    for (const { key, versionstamp } of entries) {
      this.#checks.push({ key, versionstamp });
    }
    return this;
  }

  /** Writes a record; the commit fails if something is under its key. */
  create<T extends Expiring>(key: KvKey, record: T): this {
    return this.check(absent(key)).set(key, record);
  }

  /** Writes a record, and lets the database collect it after its end. */
  set<T extends Expiring>(key: KvKey, record: T): this {
    if (this.markedKeys.length < MAX_KEYS_PER_READ) this.markedKeys.push(key);
    // Collection is lazy (a record may stay readable for a minute after it):
    // whether a record is alive is decided when it is read.
    this.#writes.push((operation, mark, clock) => {
      const value = { ...record, mark };
      operation.set(key, value, { expireIn: expireIn(record, clock) });
    });
    return this;
  }

  /** Writes a value that never ends: a shared secret, a head. */
  setForever(key: KvKey, value: unknown): this {
    this.#writes.push((operation) => operation.set(key, value));
    return this;
  }

  /**
   * Ends a record: its end is in the past by every clock. It is collected a
   * little later. Unlike a deleted record, it still shows which transaction
   * ended it.
   */
  expire(key: KvKey): this {
    return this.set(key, { expiresAt: 0 });
  }

  /** Deletes records for which no other transaction competes. */
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

  /** Commits as {@linkcode import("./database.ts").Database.commit} says. */
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
      // If only the check of the fence has failed, the commit is tried again.
      if (applied || !this.fence.isClosedTo(commitTry)) return applied;
    }
  }

  /**
   * Makes sure that a failed try can no longer be applied. Returns the version
   * at which it was applied; undefined if it was not.
   *
   * @throws the `error` of the try, if the database does not tell which
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

  /** Finds the version at which a try of a transaction was applied, if it was. */
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
