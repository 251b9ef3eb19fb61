/**
 * A process's opened database and its clock: reads that honour `expiresAt`,
 * commits that recognize themselves, and one error for a database that does not
 * answer. Each process has one.
 *
 * @module
 */
import { type Clock, now, pause, systemClock } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { detached } from "../telemetry/current.ts";
import { type CommitTry, Fence } from "./fence.ts";
import { givenUpKey, lookKey } from "./keys.ts";
import { isLocked } from "./locked.ts";
import { DeadlineError, Operations } from "./operations.ts";
import { type Poll, Polls } from "./polls.ts";
import { type Expiring, type Marked, readRecord } from "./record.ts";
import { KEYS_PER_READ, Transaction } from "./transaction.ts";
import { type Wait, waitFor } from "./wait.ts";

export type { Expiring };

/** A list of more records takes another round trip. */
const RECORDS_PER_READ = 500;

/**
 * The pause between polls where watches see other processes, so that a poll is
 * needed only if a watch broke.
 */
const REMOTE_POLL_MILLISECONDS = 5000;

/**
 * The time after an outage within which every process has written down what it
 * gave up.
 */
const UNSETTLED_MILLISECONDS = 5000;

/** The least difference between two clocks that is reported. */
const CLOCK_SECONDS = 10;
const TELL_CLOCK_SECONDS = 10 * 60;

/** The number of tries of an operation that failed at once. */
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
  /** The mark of the commit that wrote it, if it has one. */
  mark?: string;
}

/** A live record and the version it was read at, for a later check. */
export interface Found<T> {
  key: Deno.KvKey;
  value: T;
  versionstamp: string;
  mark?: string;
}

/** Keys from `start` on, and before `end`. */
export interface KeyRange {
  start: Deno.KvKey;
  end: Deno.KvKey;
}

/** The options of a {@linkcode Database}. */
interface DatabaseOptions {
  clock?: Clock;
  /** True if a watch sees other processes' writes; with SQLite it does not. */
  isRemote?: boolean;
  /** The time an operation may take, in milliseconds. */
  deadlineMilliseconds?: number;
  /** Called, at most every ten minutes, when another process's clock is ahead. */
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
      () => kv.get(lookKey()),
      deadlineMilliseconds,
      // Other processes wait to learn which commits were given up.
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
   * Lists the live ones among the next records of a range, and gives the key of
   * the last one read; undefined when there are no more.
   *
   * @throws {StorageError}
   */
  async listSome<T>(
    range: KeyRange,
    limit: number,
  ): Promise<{ found: Found<T>[]; last?: Deno.KvKey }> {
    const entries = await this.#tried(() =>
      Array.fromAsync(
        this.#kv.list(range, { limit, batchSize: RECORDS_PER_READ }),
      )
    );
    return {
      found: entries.map((entry) => this.#entry<T>(entry)).filter(isFound),
      last: entries.length < limit ? undefined : entries.at(-1)?.key,
    };
  }

  /**
   * Commits a transaction and gives its version; undefined if one of its checks
   * failed. A lost answer is no failure: a remote client repeats the
   * transaction by itself, and its checks then fail because of its own writes.
   * So the records are read again to see if they are this transaction's. A try
   * that was given up can no longer be applied once the next commit begins.
   *
   * @throws {StorageError} when it was not applied, or that cannot be told: then
   * {@linkcode Database.isGivenUp} is true of its records
   */
  async commit(
    build: (transaction: Transaction) => unknown,
  ): Promise<string | undefined> {
    const transaction = new Transaction();
    build(transaction);
    for (let tries = 1;;) {
      if (this.#fence.isDue) await this.#fence.settle();
      const commitTry = this.#fence.begin();
      const { clock } = this;
      let isSent = false;
      try {
        const result = await this.#operations.run(() => {
          isSent = true;
          return transaction.commit(this.#kv, { ...commitTry, clock });
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
          this.#fence.owe(commitTry);
          throw error;
        });
      // The check that failed may be that of the fence alone.
      if (applied || !this.#fence.isClosedTo(commitTry)) return applied;
    }
  }

  /**
   * True if the request that wrote a record was answered with 503: what it used
   * up may be used again.
   */
  async isGivenUp({ mark }: { mark?: string }): Promise<boolean> {
    if (mark === undefined) return false;
    if (this.#fence.isDue) await this.#fence.settle();
    return await this.find(givenUpKey(mark)) !== undefined;
  }

  /**
   * {@linkcode isGivenUp} for what may be used once, and is used.
   *
   * @throws {StorageError} while another process may still be about to say so
   */
  async mayRepeat(used: { mark?: string }): Promise<boolean> {
    if (await this.isGivenUp(used)) return true;
    if (this.#isUnsettled(used)) throw new StorageError();
    return false;
  }

  /**
   * Notes that the request that wrote a record is answered with 503 after all.
   * Other processes can read that as soon as the database answers.
   */
  giveUp({ mark }: { mark?: string }): void {
    if (mark === undefined) return;
    this.#fence.owe({ mark });
    this.background(() => this.#fence.settle());
  }

  /**
   * True if the database has just been away, so that another process may still
   * have to write down that it gave up the commit of a record.
   */
  #isUnsettled({ mark }: { mark?: string }): boolean {
    return mark !== undefined && !this.#fence.isOwn(mark) &&
      this.answersForMilliseconds < UNSETTLED_MILLISECONDS;
  }

  /** The time for which this process had every answer soon. */
  get answersForMilliseconds(): number {
    return this.#operations.answersForMilliseconds;
  }

  /**
   * Waits for a value under a key that `isWanted` accepts.
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

  /** A signal that fires when the database is about to be closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /**
   * Resolves when nothing is being read or written, so that the database may be
   * closed.
   */
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
   * Makes sure that a failed try can no longer be applied, and gives the version
   * at which it was, if it was.
   *
   * @throws the `error` of the try, when that cannot be told
   */
  async #settled(
    transaction: Transaction,
    commitTry: CommitTry,
    error: StorageError,
  ): Promise<string | undefined> {
    this.#fence.giveUp(commitTry);
    try {
      await this.#fence.settle();
      return await this.#versionOf(transaction, commitTry);
    } catch {
      this.#fence.owe(commitTry);
      throw error;
    }
  }

  /** Writes records in a commit without checks, which may be repeated. */
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

  /** Finds the version at which a try of a transaction was applied, if it was. */
  async #versionOf(
    { markedKeys }: Transaction,
    { mark }: CommitTry,
  ): Promise<string | undefined> {
    if (markedKeys.length === 0) return undefined;
    const entries = await this.#tried(() =>
      this.#kv.getMany<Marked[]>(markedKeys)
    );
    return entries.find(({ value }) => value?.mark === mark)
      ?.versionstamp ?? undefined;
  }

  /** Runs an operation that may be repeated. */
  async #tried<T>(operation: () => Promise<T>): Promise<T> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#operations.run(operation);
      } catch (error) {
        if (!isTransient(error) || attempt === TRIES) throw error;
        await pause(attempt * PAUSE_MILLISECONDS);
      }
    }
  }

  #entry<T>(entry: Deno.KvEntryMaybe<unknown>): Entry<T> {
    const { key, versionstamp } = entry;
    if (entry.value === null) return { key, value: undefined, versionstamp };
    const value = readRecord<T>(entry.value, this.now());
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
 * True if another try may work: not after the process has closed the database,
 * nor after waiting in vain for a turn or a lock.
 */
function isTransient(error: unknown): error is StorageError {
  if (!(error instanceof StorageError)) return false;
  const { cause } = error;
  if (isLocked(cause)) return false;
  if (cause instanceof DeadlineError && !cause.isBegun) return false;
  return !["BadResource", "Interrupted"].includes((cause as Error)?.name);
}
