/**
 * A process's opened database and its clock: reads that honour `expiresAt`,
 * commits that notice that an earlier try of theirs was applied, and one error
 * for a database that does not answer. Each process has one.
 *
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

/** The pause between polls where a watch sees all writes, unless it breaks. */
const REMOTE_POLL_MILLISECONDS = 5000;

/**
 * The time after an outage in which every process writes down which commits it
 * gave up.
 */
const UNSETTLED_MILLISECONDS = 5000;

interface DatabaseOptions {
  clock?: Clock;
  /** True if a watch sees other processes' writes; by default as `kv` says. */
  isRemote?: boolean;
  /** The time an operation may take, in milliseconds. */
  deadlineMilliseconds?: number;
  /** Called, at most every ten minutes, when another process's clock is ahead. */
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
    // Other processes wait to learn which commits were given up.
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
   * @throws {Error} if other processes find another database at the same place
   */
  async checkPlace(): Promise<void> {
    await this.kv.checkPlace?.();
  }

  /**
   * Commits a transaction and returns its version; undefined if one of its
   * checks failed. A try that was given up can no longer be applied once the
   * next commit begins.
   *
   * @throws {StorageError} when it was not applied, or when that is not known:
   * then {@linkcode Database.isGivenUp} is true of its records
   */
  commit(build: Write): Promise<string | undefined> {
    const transaction = new Transaction();
    build(transaction);
    return this.#commits.commit(transaction);
  }

  /**
   * Changes the record under a key. Reads it again, and tries again, when
   * another commit was faster. The commit checks the entry that `update` was
   * given, also if there was no record.
   *
   * @param update adds the change to a transaction; if it adds none, nothing is
   * committed. `before` is the entry of the last try, if there was one. If it
   * is the same entry again, it was another check that failed
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
   * True if the request that wrote a record was answered with 503. Anything
   * that it used up may then be used again.
   */
  async isGivenUp({ mark }: { mark?: string }): Promise<boolean> {
    if (mark === undefined) return false;
    if (this.fence.isDue) await this.fence.settle();
    return await this.find(givenUpKey(mark)) !== undefined;
  }

  /**
   * True if a thing that was used up may be used again, because the request
   * that used it was answered with 503.
   *
   * @throws {StorageError} while this is not known: another process may still
   * have to write down that it answered so
   */
  async mayRepeat({ mark }: { mark?: string }): Promise<boolean> {
    if (await this.isGivenUp({ mark })) return true;
    const isOthers = mark !== undefined && !this.fence.isOwn(mark);
    // Another process may still have to write down that it gave up the commit.
    if (isOthers && this.answersForMilliseconds < UNSETTLED_MILLISECONDS) {
      throw new StorageError();
    }
    return false;
  }

  /**
   * Notes that the request that wrote a record is answered with 503 after all.
   * Other processes can read that as soon as the database answers.
   */
  giveUp({ mark }: { mark?: string }): void {
    if (mark === undefined) return;
    this.fence.owe({ mark });
  }

  /** The time since the last failure or late answer. */
  get answersForMilliseconds(): number {
    return this.operations.answersForMilliseconds;
  }

  /**
   * Waits for a value under a key that `isWanted` accepts.
   *
   * @throws the signal's reason when it fires first
   */
  waitFor<T>(
    key: KvKey,
    isWanted: (value: T | undefined) => boolean,
    signal: AbortSignal,
    options?: PollOptions,
  ): Promise<T | undefined> {
    return waitFor<T>(this, key, isWanted, signal, options);
  }

  /** Reads a key from time to time. Returns a function that stops this. */
  poll<T>(key: KvKey, poll: Poll<T>): () => Promise<void> {
    return this.#polls.start(key, poll);
  }

  /**
   * Calls `onValue` with the values under a key that a watch of this handle
   * sees. Returns a function that stops this.
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
      // A watch that broke is no failure: the poll goes on.
    })().catch(() => {});
    return async () => {
      await reader.cancel().catch(() => {});
      await watching;
    };
  }

  /** Resolves when no operation is under way: it may then be closed. */
  async idle(): Promise<void> {
    this.#close.abort();
    // Background work may begin other background work.
    while (this.#background.size > 0) await Promise.all(this.#background);
    await this.operations.idle();
  }

  /**
   * Does work in the background, which may fail. The close waits for it.
   *
   * @returns a promise of its end, which never rejects
   */
  background(work: () => Promise<void>): unknown {
    const done: Promise<void> = outsideTrace(work).catch(() => {}).finally(() =>
      this.#background.delete(done)
    );
    this.#background.add(done);
    return done;
  }
}
