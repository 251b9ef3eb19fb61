/**
 * The database, opened once in each process. Reads skip expired records. A
 * commit that is sent again notices if its first attempt was applied. If the
 * database does not respond, operations throw `StorageError`.
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import { type Clock, systemClock } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { outsideTrace } from "../telemetry/current.ts";
import { Commits, Transaction, type Write } from "./transaction.ts";
import { Fence } from "./fence.ts";
import { givenUpKey, reachabilityKey } from "./keys.ts";
import type { Kv, KvKey } from "./kv.ts";
import { Operations } from "./operations.ts";
import { type Poll, type PollOptions, Polls, waitFor } from "./polls.ts";
import { type Entry, type Expiring, type Found, Reader } from "./reader.ts";

export { isFound } from "./reader.ts";
export type { Entry, Expiring, Found, KeyRange } from "./reader.ts";
export { absent, MAX_CHECKS } from "./transaction.ts";
export type { Transaction, Write } from "./transaction.ts";

/**
 * The interval of polls where watches see all writes. The polls only help when
 * a watch breaks.
 */
const REMOTE_POLL_MILLISECONDS = 5000;

/**
 * The time after an outage in which each process records the commits that timed
 * out.
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
      this.background(() => fence.settleForGood(this.closing));
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
   * @throws {StorageError} if it was not applied, or may have been: then
   * {@linkcode Database.isGivenUp} is true for its records
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
    const isOthers = mark !== undefined && !this.fence.isOwn(mark);
    // Another process may still have to record that a commit was answered with
    // 503.
    if (isOthers && this.answersForMilliseconds < UNSETTLED_MILLISECONDS) {
      throw new StorageError();
    }
    return false;
  }

  /**
   * Records that a request was answered with 503, given a record that it wrote.
   * Other processes see this once the database responds.
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
    // Background work may start more background work.
    while (this.#background.size > 0) await Promise.all(this.#background);
    await this.operations.idle();
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
