/**
 * The database, opened once in each process, and its transactions: checks and
 * writes that are applied together or not at all. If a response is lost, a
 * remote client sends the transaction again by itself; its checks then fail
 * because of its own writes. So after a failed check the records are read, to
 * see if this transaction wrote them. If the database does not respond,
 * operations throw `StorageError`.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import { type Clock, pause, systemClock } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { outsideTrace } from "../telemetry/current.ts";
import {
  type CommitTry,
  Fence,
  isTransient,
  Operations,
  PAUSE_MILLISECONDS,
  secondOf,
  TRIES,
} from "./operations.ts";
import { fenceKey, givenUpKey, reachabilityKey } from "./keys.ts";
import type { Kv, KvAtomic, KvCheck, KvCommit, KvKey } from "./kv.ts";
import { type Poll, type PollOptions, Polls, waitFor } from "./polls.ts";
import {
  type Entry,
  type Expiring,
  type Found,
  type Marked,
  MAX_KEYS_PER_READ,
  Reader,
} from "./reader.ts";
import { KvUsageError } from "./kv_error.ts";

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

  /**
   * Deletes records, whatever their versions are. Only for records that no other
   * transaction changes at the same time.
   */
  delete(...keys: KvKey[]): this {
    this.#writes.push((operation) => {
      for (const key of keys) operation.delete(key);
    });
    return this;
  }

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
   * Commits a transaction, see {@linkcode Database.commit}.
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
      if (applied || !this.fence.isOutdated(commitTry)) return applied;
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

export { isFound } from "./reader.ts";
export type { Entry, Expiring, Found, KeyRange } from "./reader.ts";

/**
 * The interval of polls where watches see all writes. The polls only help when
 * a watch breaks.
 */
const REMOTE_POLL_MILLISECONDS = 5000;

/**
 * The time that each process has after an outage to record the commits that
 * timed out.
 */
const UNSETTLED_MILLISECONDS = 5000;

interface DatabaseOptions {
  clock?: Clock;
  /** True if a watch sees other processes' writes; by default `kv.isRemote`. */
  isRemote?: boolean;
  deadlineMilliseconds?: number;
  /** Called if another process's clock is ahead, at most every ten minutes. */
  onClockAhead?(seconds: number): void;
}

export class Database extends Reader {
  readonly isRemote: boolean;
  readonly #commits: Commits;
  readonly #background = new Set<Promise<void>>();
  readonly #close = new AbortController();
  /** Fires when the database is about to be closed. */
  readonly closing = this.#close.signal;
  readonly #polls: Polls;
  readonly #begunSeconds: number;
  readonly #begunMilliseconds = performance.now();

  constructor(kv: Kv, {
    clock = systemClock,
    isRemote = kv.isRemote ?? false,
    deadlineMilliseconds,
    onClockAhead,
  }: DatabaseOptions = {}) {
    const operations = new Operations(
      () => kv.get(reachabilityKey()),
      deadlineMilliseconds,
    );
    const fence = new Fence(kv, operations, clock, onClockAhead);
    super(kv, clock, operations, fence);
    // Other processes wait to learn which of this one's commits were answered
    // with 503.
    operations.onBack = () => this.background(() => fence.settle());
    fence.onOwed = () =>
      this.background(() => fence.settleEventually(this.closing));
    this.#begunSeconds = this.now();
    this.isRemote = isRemote;
    this.#commits = new Commits(kv, operations, fence, clock);
    this.#polls = new Polls(
      (keys) => this.getMany(keys),
      isRemote ? REMOTE_POLL_MILLISECONDS : undefined,
    );
  }

  /**
   * @throws {Error} if this process still has the old database after it was
   * replaced
   */
  async checkPlace(): Promise<void> {
    await this.kv.checkPlace?.();
  }

  /**
   * Commits a transaction and returns its version; undefined if a check failed.
   * An attempt that timed out cannot be applied after the next commit begins.
   * @throws {StorageError} if the transaction was not applied, or may have been
   * applied; {@linkcode Database.isGivenUp} is then true for its records
   */
  commit(build: Write): Promise<string | undefined> {
    const transaction = new Transaction();
    build(transaction);
    return this.#commits.commit(transaction);
  }

  /**
   * Changes the record under a key. Reads the record again, and tries again, if
   * another commit changed it first. The commit fails if the record, or its
   * absence, is not what `update` was given.
   *
   * @param update adds the change to a transaction; if it adds nothing, nothing
   * is committed. `before` is the entry of the previous attempt; if it has the
   * same version, another check of the commit failed
   * @param read the entry, if it was just read
   * @returns the result of the last `update`
   */
  async change<T, R>(
    key: KvKey,
    update: (
      transaction: Transaction,
      entry: Entry<T>,
      before?: Entry<T>,
    ) => MaybePromise<R>,
    read?: Entry<T>,
  ): Promise<R> {
    let before: Entry<T> | undefined;
    for (let entry = read;; entry = undefined) {
      entry ??= await this.get<T>(key);
      const transaction = new Transaction().check(entry);
      const result = await update(transaction, entry, before);
      if (transaction.isEmpty) return result;
      if (await this.#commits.commit(transaction)) return result;
      before = entry;
    }
  }

  /** Changes a record. Returns undefined if another commit changed it first. */
  async replace<F extends Found<Expiring>>(
    found: F,
    value: F["value"],
    extraWrites: Write = () => {},
  ): Promise<F | undefined> {
    const transaction = new Transaction().check(found).set(found.key, value);
    extraWrites(transaction);
    const versionstamp = await this.#commits.commit(transaction);
    if (versionstamp === undefined) return undefined;
    return { ...found, value, versionstamp, mark: transaction.mark };
  }

  /**
   * True if the request that wrote a record was answered with 503, so that
   * whatever the request used may be used again.
   */
  async isGivenUp({ mark }: { mark?: string }): Promise<boolean> {
    if (mark === undefined) return false;
    if (this.fence.isDue) await this.fence.settle();
    return await this.find(givenUpKey(mark)) !== undefined;
  }

  /**
   * True if a used code, state or assertion may be used again, because the
   * request that used it was answered with 503.
   *
   * @throws {StorageError} if another process may still have to record the 503
   */
  async mayRepeat({ mark }: { mark?: string }): Promise<boolean> {
    if (await this.isGivenUp({ mark })) return true;
    if (mark === undefined || this.fence.isOwn(mark)) return false;
    // This process does not know of an outage that ended before it began.
    const isUnsure = secondOf(mark) < this.#begunSeconds &&
      performance.now() - this.#begunMilliseconds < UNSETTLED_MILLISECONDS;
    if (isUnsure || this.answersForMilliseconds < UNSETTLED_MILLISECONDS) {
      throw new StorageError();
    }
    return false;
  }

  /**
   * Records that a request was answered with 503, given a record that the
   * request wrote. Other processes see this once the database responds.
   */
  giveUp({ mark }: { mark?: string }): void {
    if (mark !== undefined) this.fence.owe({ mark });
  }

  /** The time since the last failure or slow response of the database. */
  get answersForMilliseconds(): number {
    return this.operations.answersForMilliseconds;
  }

  /**
   * Waits until `isWanted` accepts the value under a key.
   *
   * @throws the signal's reason if the signal fires first
   */
  waitFor<T>(
    key: KvKey,
    isWanted: (value: T | undefined) => boolean,
    signal: AbortSignal,
    options?: PollOptions,
  ): Promise<T | undefined> {
    return waitFor<T>(this, key, isWanted, signal, options);
  }

  /** Polls a key. Returns a function that stops polling. */
  poll<T>(key: KvKey, poll: Poll<T>): () => Promise<void> {
    return this.#polls.start(key, poll);
  }

  /**
   * Calls `onValue` with each new value under a key. Returns a function that
   * stops the watch.
   */
  watch<T>(
    key: KvKey,
    onValue: (value: T | undefined) => void,
  ): () => Promise<void> {
    const reader = this.kv.watch([key]).getReader();
    const watching = (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        onValue(this.entry<T>(value[0]).value);
      }
      // The watch may break, but the poll continues.
    })().catch(() => {});
    return async () => {
      await reader.cancel().catch(() => {});
      await watching;
    };
  }

  /**
   * Resolves when no operation is running, so that the database can be closed.
   */
  async idle(): Promise<void> {
    this.#close.abort();
    // Work may start more work in the background.
    do {
      await Promise.all(this.#background);
      await this.operations.idle();
    } while (this.#background.size > 0);
  }

  /**
   * Runs `work` in the background and ignores its errors. Closing the database
   * waits for it.
   *
   * @returns a promise that resolves when `work` has ended, and never rejects
   */
  background(work: () => Promise<void>): unknown {
    const done: Promise<void> = outsideTrace(work).catch(() => {}).finally(() =>
      this.#background.delete(done)
    );
    this.#background.add(done);
    return done;
  }
}
