/**
 * Checks and writes that happen together or not at all.
 *
 * @module
 */
import { type Clock, now } from "../clock.ts";
import { randomId } from "../crypto.ts";
import { type Expiring, RECORD_VERSION } from "./record.ts";

/** The most keys of one `getMany`. */
export const KEYS_PER_READ = 10;

/**
 * The least time for which a record stays stored, even if it has ended: another
 * process may still have to recognize it.
 */
const LEAST_MILLISECONDS = 60_000;

type Send = (operation: Deno.AtomicOperation, clock: Clock) => void;

/** Adds a part to a transaction. */
export type Write = (transaction: Transaction) => unknown;

/**
 * Commits its own change together with the given one; false: nothing was
 * committed.
 */
export type CommitWith = (also: Write) => Promise<boolean>;

/** A transaction that is being built; stores add their parts. */
export class Transaction {
  /**
   * A mark in every record it writes, by which it is recognized after it was
   * applied.
   */
  readonly mark: string = randomId(12);
  /** The keys of the records with the mark. */
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

  /** Writes a record, and lets the database collect it after its end. */
  set<T extends Expiring>(key: Deno.KvKey, record: T): this {
    return this.setAsSent(key, () => record);
  }

  /**
   * Writes a record whose lifetime begins when it is sent to the database,
   * which may be seconds later, or again.
   */
  setAsSent<T extends Expiring>(
    key: Deno.KvKey,
    recordAt: (now: number) => T,
  ): this {
    const { mark } = this;
    if (this.markedKeys.length < KEYS_PER_READ) this.markedKeys.push(key);
    // Collection is lazy (a record may stay readable for a minute longer):
    // reads decide if a record is alive.
    this.#writes.push((operation, clock) => {
      const record = recordAt(now(clock));
      const value = { ...record, v: RECORD_VERSION, mark };
      operation.set(key, value, {
        expireIn: Math.max(
          LEAST_MILLISECONDS,
          record.expiresAt * 1000 - clock(),
        ),
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
   * Ends a record, which is collected a little later. Unlike a deleted record,
   * it still shows which transaction ended it.
   */
  end(key: Deno.KvKey, now: number): this {
    return this.set(key, { expiresAt: now });
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
    clock: Clock,
  ): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
    const operation = kv.atomic().check(...this.#checks);
    for (const write of this.#writes) write(operation, clock);
    return await operation.commit();
  }
}
