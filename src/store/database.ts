/**
 * A process's opened database and its clock: reads that honour `expiresAt`,
 * commits that recognize themselves, and one error for a database that does not
 * answer. Each process has one.
 *
 * @module
 */
import { type Clock, now, systemClock } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { detached } from "../telemetry.ts";
import { type Attempt, Fence } from "./fence.ts";
import { givenUpKey } from "./keys.ts";
import { isLocked } from "./locked.ts";
import { DeadlineError, Operations } from "./operations.ts";
import { type Poll, Polls } from "./polls.ts";
import { type Expiring, type Marked, readRecord } from "./record.ts";
import { KEYS_PER_READ, Transaction } from "./transaction.ts";
import { type Wait, waitFor } from "./wait.ts";

export type { Expiring };

/** The most records that a page for people lists. */
export const MAX_LISTED = 1000;

/** The records that a list reads in one round trip. */
const RECORDS_PER_READ = 500;

/**
 * The pause between polls where watches see other processes, so that a poll is
 * needed only if a watch broke.
 */
const REMOTE_POLL_MILLISECONDS = 5000;

/** Within this time after an outage every process has told what it gave up. */
const UNSETTLED_MILLISECONDS = 5000;

/** Clocks that differ by more are told of. */
const CLOCK_SECONDS = 10;
const TELL_CLOCK_SECONDS = 10 * 60;

/** How often an operation that failed at once is tried. */
const TRIES = 3;
const PAUSE_MILLISECONDS = 20;

/**
 * The result of a read under a key. Its version counts even without a live
 * value.
 */
export interface Entry<T> {
  key: Deno.KvKey;
  value: T | undefined;
  versionstamp: string | null;
  /** Of the commit that wrote it; undefined: nothing, or one of long ago. */
  mark?: string;
}

/** A live record and the version it was read at, for a later check. */
export interface Found<T> {
  key: Deno.KvKey;
  value: T;
  versionstamp: string;
  mark?: string;
}

/** Settings of a database. */
export interface DatabaseOptions {
  clock?: Clock;
  /** True if a watch sees other processes' writes; with SQLite it does not. */
  isRemote?: boolean;
  /** The time an operation may take, in milliseconds. */
  deadlineMilliseconds?: number;
  /** Is told, now and then, that another process's clock is ahead of ours. */
  onClockAhead?(seconds: number): void;
}

/** A database for the stores. */
export class Database {
  readonly clock: Clock;
  readonly isRemote: boolean;
  readonly #kv: Deno.Kv;
  readonly #operations: Operations;
  readonly #fence: Fence;
  readonly #background = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  readonly #polls: Polls;
  readonly #onClockAhead: DatabaseOptions["onClockAhead"];
  #tellClockAt = -Infinity;

  constructor(kv: Deno.Kv, {
    clock = systemClock,
    isRemote = false,
    deadlineMilliseconds,
    onClockAhead,
  }: DatabaseOptions = {}) {
    this.#onClockAhead = onClockAhead;
    this.clock = clock;
    this.isRemote = isRemote;
    this.#kv = kv;
    this.#operations = new Operations(
      () => kv.get(["look"]),
      deadlineMilliseconds,
      // Others wait to be told what became of what was given up.
      () => this.background(() => this.#fence.settle()),
    );
    this.#fence = new Fence(
      (records) => this.#saveForGood(records),
      () => this.now(),
    );
    this.#polls = new Polls(
      (keys) => this.getMany(keys),
      isRemote ? REMOTE_POLL_MILLISECONDS : undefined,
    );
  }

  /** Gives the present in whole epoch seconds. */
  now(): number {
    return now(this.clock);
  }

  /**
   * Reads a key.
   *
   * @throws {StorageError}
   */
  async get<T>(key: Deno.KvKey): Promise<Entry<T>> {
    return this.#entry<T>(await this.#tried(() => this.#kv.get(key)));
  }

  /**
   * Finds the live record under a key.
   *
   * @throws {StorageError}
   */
  async find<T>(key: Deno.KvKey): Promise<Found<T> | undefined> {
    const entry = await this.get<T>(key);
    return isFound(entry) ? entry : undefined;
  }

  /**
   * Reads several keys concurrently.
   *
   * @throws {StorageError}
   */
  async getMany<T extends readonly unknown[]>(
    keys: readonly Deno.KvKey[],
  ): Promise<{ [K in keyof T]: Entry<T[K]> }> {
    const reads = [];
    for (let start = 0; start < keys.length; start += KEYS_PER_READ) {
      const some = keys.slice(start, start + KEYS_PER_READ);
      reads.push(this.#tried(() => this.#kv.getMany<unknown[]>(some)));
    }
    const entries = (await Promise.all(reads)).flat();
    return entries.map((entry) => this.#entry(entry)) as {
      [K in keyof T]: Entry<T[K]>;
    };
  }

  /**
   * Lists the live records under a prefix, in the order of their keys.
   *
   * @throws {StorageError}
   */
  async list<T>(
    prefix: Deno.KvKey,
    { limit }: { limit?: number } = {},
  ): Promise<Found<T>[]> {
    const entries = await this.#tried(() =>
      Array.fromAsync(
        this.#kv.list({ prefix }, { limit, batchSize: RECORDS_PER_READ }),
      )
    );
    return entries.map((entry) => this.#entry<T>(entry)).filter(isFound);
  }

  /**
   * Commits a transaction and gives its version; undefined when one of its
   * checks failed. An answer that got lost is no failure: a remote client
   * repeats the transaction by itself, and its checks then fail on what it
   * wrote, so what is there is read back. A try that was given up cannot happen
   * any more before there is another, of this transaction or of any other.
   *
   * @throws {StorageError} when it did not happen, or nothing can tell: then
   * {@linkcode Database.isGivenUp} is true of what it wrote
   */
  async commit(
    build: (transaction: Transaction) => unknown,
  ): Promise<string | undefined> {
    const transaction = new Transaction();
    build(transaction);
    for (let tries = 1;;) {
      if (this.#fence.isDue) await this.#fence.settle();
      const attempt = this.#fence.begin();
      const { clock } = this;
      let isSent = false;
      try {
        const result = await this.#operations.run(() => {
          isSent = true;
          return transaction.commit(this.#kv, { ...attempt, clock });
        });
        if (result.ok) return result.versionstamp;
      } catch (error) {
        if (!isPassing(error)) throw error;
        if (isSent) {
          const applied = await this.#settled(transaction, attempt, error);
          if (applied) return applied;
        }
        if (tries === TRIES) throw error;
        await pause(tries++);
        continue;
      }
      const applied = await this.#versionOf(transaction, attempt)
        .catch((error) => {
          this.#fence.owe(attempt);
          throw error;
        });
      // What failed its check may have been the fence alone.
      if (applied || !this.#fence.isClosedTo(attempt)) return applied;
    }
  }

  /**
   * Whether whoever asked for a record to be written was told 503: what was
   * used up then may be used again.
   */
  async isGivenUp({ mark }: { mark?: string }): Promise<boolean> {
    if (mark === undefined) return false;
    if (this.#fence.isDue) await this.#fence.settle();
    return await this.find(givenUpKey(mark)) !== undefined;
  }

  /**
   * Says that whoever asked for a record to be written is told 503 after all:
   * what came after it failed. Others hear of it as soon as that is possible.
   */
  giveUp({ mark }: { mark?: string }): void {
    if (mark === undefined) return;
    this.#fence.owe({ mark });
    this.background(() => this.#fence.settle());
  }

  /**
   * Whether another process may not have had the time to say that it gave up
   * what wrote a record: the database has just been away.
   */
  isUnsettled({ mark }: { mark?: string }): boolean {
    return mark !== undefined && !this.#fence.isOwn(mark) &&
      this.answersForMilliseconds < UNSETTLED_MILLISECONDS;
  }

  /** For how long the database has answered at once, as far as is known here. */
  get answersForMilliseconds(): number {
    return this.#operations.answersForMilliseconds;
  }

  /**
   * The first value under a key that `isWanted` takes.
   *
   * @throws the signal's reason when it fires first
   */
  waitFor<T>(
    key: Deno.KvKey,
    isWanted: (value: T | undefined) => boolean,
    signal: AbortSignal,
    options?: Wait,
  ): Promise<T | undefined> {
    return waitFor<T>(this, key, isWanted, signal, options);
  }

  /** Reads a key from time to time, together with other awaited keys. */
  poll<T>(key: Deno.KvKey, poll: Poll<T>): () => Promise<void> {
    return this.#polls.start(key, poll);
  }

  /**
   * Reports the values under a key that this handle is notified of, until
   * stopped.
   */
  watch<T>(
    key: Deno.KvKey,
    onValue: (value: T | undefined) => void,
  ): () => Promise<void> {
    const reader = this.#kv.watch<[T]>([key]).getReader();
    const watching = (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        onValue(this.#entry<T>(value[0]).value);
      }
      // A watch that broke is no failure: the poll goes on.
    })().catch(() => {});
    return async () => {
      await reader.cancel().catch(() => {});
      await watching;
    };
  }

  /** Fires when the process is about to close it: what can wait ends. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Resolves when nothing is being read or written, so that it may be closed. */
  async idle(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#background);
    await this.#operations.idle();
  }

  /**
   * Does work in the background whose failure does no harm. It ends before the
   * database is closed.
   */
  background(work: () => Promise<void>): void {
    const done: Promise<void> = detached(work).catch(() => {}).finally(() =>
      this.#background.delete(done)
    );
    this.#background.add(done);
  }

  /**
   * The version at which a try was applied that failed with an `error`, if it
   * was. From now on it cannot be.
   *
   * @throws that error, when nothing can tell
   */
  async #settled(
    transaction: Transaction,
    attempt: Attempt,
    error: StorageError,
  ): Promise<string | undefined> {
    this.#fence.giveUp(attempt);
    try {
      await this.#fence.settle();
      return await this.#versionOf(transaction, attempt);
    } catch {
      this.#fence.owe(attempt);
      throw error;
    }
  }

  /** Writes records over what is there, in a commit that rests on nothing. */
  #saveForGood(
    records: readonly [Deno.KvKey, Expiring][],
  ): Promise<unknown> {
    return this.#tried(() => {
      const operation = this.#kv.atomic();
      for (const [key, record] of records) {
        const expireIn = record.expiresAt * 1000 - this.clock();
        operation.set(key, record, { expireIn });
      }
      return operation.commit();
    });
  }

  /** The version at which a try of a transaction was applied, if it was. */
  async #versionOf(
    { markedKeys }: Transaction,
    { mark }: Attempt,
  ): Promise<string | undefined> {
    if (markedKeys.length === 0) return undefined;
    const entries = await this.#tried(() =>
      this.#kv.getMany<Marked[]>(markedKeys)
    );
    return entries.find(({ value }) => value?.mark === mark)
      ?.versionstamp ?? undefined;
  }

  /** Does what may be done again. */
  async #tried<T>(operation: () => Promise<T>): Promise<T> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#operations.run(operation);
      } catch (error) {
        if (!isPassing(error) || attempt === TRIES) throw error;
        await pause(attempt);
      }
    }
  }

  #entry<T>(entry: Deno.KvEntryMaybe<unknown>): Entry<T> {
    const { key, versionstamp } = entry;
    if (entry.value === null) return { key, value: undefined, versionstamp };
    const value = readRecord<T>(key, entry.value, this.now());
    const { mark } = entry.value as Marked;
    if (mark !== undefined) this.#compareClocks(mark);
    return { key, value, versionstamp, mark };
  }

  #compareClocks(mark: string): void {
    const seconds = this.#fence.secondsAhead(mark);
    if (seconds < CLOCK_SECONDS || this.now() < this.#tellClockAt) return;
    this.#tellClockAt = this.now() + TELL_CLOCK_SECONDS;
    this.#onClockAhead?.(seconds);
  }
}

/** True if the entry has a live value. */
export function isFound<T>(entry: Entry<T>): entry is Found<T> {
  return entry.value !== undefined;
}

/**
 * Whether another try may go well: not once the process has closed it, nor
 * after all the time that a turn, or a lock, is waited for.
 */
function isPassing(error: unknown): error is StorageError {
  if (!(error instanceof StorageError)) return false;
  const { cause } = error;
  if (isLocked(cause)) return false;
  if (cause instanceof DeadlineError && !cause.isBegun) return false;
  return !["BadResource", "Interrupted"].includes((cause as Error)?.name);
}

function pause(attempt: number): Promise<void> {
  return new Promise((resolve) =>
    setTimeout(resolve, attempt * PAUSE_MILLISECONDS)
  );
}
