/**
 * Checks and writes that happen together or not at all.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { CommitTry } from "./fence.ts";
import { fenceKey } from "./keys.ts";
import { type Expiring, RECORD_VERSION } from "./record.ts";

/** The most keys of one `getMany`. */
export const KEYS_PER_READ = 10;

/**
 * The least time for which a record stays stored, even if it has ended: another
 * process may still have to recognize it.
 */
const LEAST_MILLISECONDS = 60_000;

/**
 * The share of a record's life by which its collection is put off at most. Deno
 * collects what expires together in one statement, and everything waits.
 */
const SPREAD = 1 / 8;

/** A try at a commit, and the clock that tells when records are collected. */
interface Sending extends CommitTry {
  clock: Clock;
}

type Send = (operation: Deno.AtomicOperation, sending: Sending) => void;

/** Adds a part to a transaction. */
export type Write = (transaction: Transaction) => unknown;

/** Commits its own change with the given one; false: nothing was written. */
export type CommitWith = (also: Write) => Promise<boolean>;

/** A check that nothing is under a key. */
export function absent(key: Deno.KvKey): Deno.AtomicCheck {
  return { key, versionstamp: null };
}

/** A transaction that a store puts together. */
export class Transaction {
  /** The mark of its last try. */
  mark?: string;
  /** The keys under which the mark of an applied try is found. */
  readonly markedKeys: Deno.KvKey[] = [];
  #checks: Deno.AtomicCheck[] = [];
  #writes: Send[] = [];

  /** Requires that these are still as they were read. */
  check(...entries: Deno.AtomicCheck[]): this {
    for (const { key, versionstamp } of entries) {
      this.#checks.push({ key, versionstamp });
    }
    return this;
  }

  /** Writes a record under a key that no one has used before. */
  create<T extends Expiring>(key: Deno.KvKey, record: T): this {
    return this.check(absent(key)).set(key, record);
  }

  /** Writes a record, and lets the database collect it after its end. */
  set<T extends Expiring>(key: Deno.KvKey, record: T): this {
    if (this.markedKeys.length < KEYS_PER_READ) this.markedKeys.push(key);
    // Collection is lazy (a record may stay readable for a minute after it):
    // whether a record is alive is decided when it is read.
    this.#writes.push((operation, { clock, mark }) => {
      const value = { ...record, v: RECORD_VERSION, mark };
      const milliseconds = Math.max(
        LEAST_MILLISECONDS,
        record.expiresAt * 1000 - clock(),
      );
      operation.set(key, value, {
        expireIn: Math.round(milliseconds * (1 + Math.random() * SPREAD)),
      });
    });
    return this;
  }

  /** Writes a value that never ends: a shared secret, a head. */
  setForever(key: Deno.KvKey, value: unknown): this {
    this.#writes.push((operation) => operation.set(key, value));
    return this;
  }

  /**
   * Ends a record, by every clock; it is collected a little later. Unlike a
   * deleted record, it still shows which transaction ended it.
   */
  end(key: Deno.KvKey): this {
    return this.set(key, { expiresAt: 0 });
  }

  /** Deletes records for which no other transaction competes. */
  delete(...keys: Deno.KvKey[]): this {
    this.#writes.push((operation) => {
      for (const key of keys) operation.delete(key);
    });
    return this;
  }

  /** Sends the transaction to the database. */
  async commit(
    kv: Deno.Kv,
    sending: Sending,
  ): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
    this.mark = sending.mark;
    const fence = absent(fenceKey(sending.fence));
    const operation = kv.atomic().check(fence, ...this.#checks);
    for (const write of this.#writes) write(operation, sending);
    return await operation.commit();
  }
}
