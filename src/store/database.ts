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
import { Operations } from "./operations.ts";
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
}

/** A live record and the version it was read at, for a later check. */
export interface Found<T> {
  key: Deno.KvKey;
  value: T;
  versionstamp: string;
}

/** Keys from `start` on, and before `end`. */
export interface KeyRange {
  start: Deno.KvKey;
  end: Deno.KvKey;
}

/** The ways to use a database. */
export interface DatabaseOptions {
  clock?: Clock;
  /** True if a watch sees other processes' writes; with SQLite it does not. */
  isRemote?: boolean;
  /** The time an operation may take, in milliseconds. */
  deadlineMilliseconds?: number;
}

/** A database for the stores. */
export class Database {
  readonly clock: Clock;
  readonly isRemote: boolean;
  readonly #kv: Deno.Kv;
  readonly #operations: Operations;
  readonly #background = new Set<Promise<void>>();
  readonly #polls: Polls;

  constructor(kv: Deno.Kv, {
    clock = systemClock,
    isRemote = false,
    deadlineMilliseconds,
  }: DatabaseOptions = {}) {
    this.clock = clock;
    this.isRemote = isRemote;
    this.#kv = kv;
    this.#operations = new Operations(
      () => kv.get(["look"]),
      deadlineMilliseconds,
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
    return this.#entry<T>(await this.#read(() => this.#kv.get(key)));
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
      reads.push(this.#read(() => this.#kv.getMany<unknown[]>(some)));
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
    const entries = await this.#read(() =>
      Array.fromAsync(
        this.#kv.list({ prefix }, { limit, batchSize: RECORDS_PER_READ }),
      )
    );
    return entries.map((entry) => this.#entry<T>(entry)).filter(isFound);
  }

  /**
   * The live ones among the next records of a range, and the key of the last
   * that was read; undefined when these were all.
   *
   * @throws {StorageError}
   */
  async listSome<T>(
    range: KeyRange,
    limit: number,
  ): Promise<{ found: Found<T>[]; last?: Deno.KvKey }> {
    const entries = await this.#read(() =>
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
   * Commits a transaction and gives its version; undefined when one of its
   * checks failed. An answer that got lost is no failure: a remote client
   * repeats the transaction by itself, and its checks then fail on what it
   * wrote, so what is there is read back.
   *
   * @throws {StorageError} when it was not applied, or that cannot be told
   */
  async commit(
    build: (transaction: Transaction) => unknown,
  ): Promise<string | undefined> {
    const transaction = new Transaction();
    build(transaction);
    for (let attempt = 1;; attempt++) {
      try {
        const result = await this.#operations.run(() =>
          transaction.commit(this.#kv, this.clock)
        );
        if (result.ok) return result.versionstamp;
      } catch (error) {
        if (!isPassing(error)) throw error;
        const applied = await this.#versionOf(transaction)
          .catch(() => undefined);
        if (applied) return applied;
        if (attempt === TRIES) throw error;
        await pause(attempt);
        continue;
      }
      return await this.#versionOf(transaction);
    }
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

  /**
   * Resolves when nothing is being read or written, so that the database may be
   * closed.
   */
  async idle(): Promise<void> {
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

  /** Finds the version at which a transaction was applied, if it was. */
  async #versionOf(
    { mark, markedKeys }: Transaction,
  ): Promise<string | undefined> {
    if (markedKeys.length === 0) return undefined;
    const entries = await this.#read(() =>
      this.#kv.getMany<Marked[]>(markedKeys)
    );
    return entries.find(({ value }) => value?.mark === mark)
      ?.versionstamp ?? undefined;
  }

  async #read<T>(read: () => Promise<T>): Promise<T> {
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#operations.run(read);
      } catch (error) {
        if (!isPassing(error) || attempt === TRIES) throw error;
        await pause(attempt);
      }
    }
  }

  #entry<T>(entry: Deno.KvEntryMaybe<unknown>): Entry<T> {
    const { key, versionstamp } = entry;
    const value = entry.value === null
      ? undefined
      : readRecord<T>(key, entry.value, this.now());
    return { key, value, versionstamp };
  }
}

/** True if the entry has a live value. */
export function isFound<T>(entry: Entry<T>): entry is Found<T> {
  return entry.value !== undefined;
}

/**
 * True if another try may work: not once the process has closed the database.
 */
function isPassing(error: unknown): error is StorageError {
  return error instanceof StorageError &&
    !["BadResource", "Interrupted"].includes((error.cause as Error)?.name);
}

function pause(attempt: number): Promise<void> {
  return new Promise((resolve) =>
    setTimeout(resolve, attempt * PAUSE_MILLISECONDS)
  );
}
