/**
 * Checks and writes that happen together or not at all.
 *
 * @module
 */
import { type Clock, now } from "../clock.ts";
import { randomId } from "../crypto.ts";
import { type Expiring, RECORD_VERSION } from "./record.ts";

/** `getMany` reads this many keys. */
export const KEYS_PER_READ = 10;

/** What has ended stays as long, for who has yet to recognize it. */
const LEAST_MILLISECONDS = 60_000;

type Send = (operation: Deno.AtomicOperation, clock: Clock) => void;

/** Adds to a transaction what belongs to it. */
export type Write = (transaction: Transaction) => unknown;

/** Commits something together with what it is given; false: it did not. */
export type CommitWith = (also: Write) => Promise<boolean>;

/** A transaction that is being put together; a store says what belongs to it. */
export class Transaction {
  /** In every record it writes, so that it is recognized when it was applied. */
  readonly mark: string = randomId(12);
  /** Where the mark is found. */
  readonly markedKeys: Deno.KvKey[] = [];
  #checks: Deno.AtomicCheck[] = [];
  #writes: Send[] = [];

  /** Only if these are still as they were read. */
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
   * Writes a record whose time begins when it is sent to the database, which
   * may be seconds later, or again.
   */
  setAsSent<T extends Expiring>(
    key: Deno.KvKey,
    recordAt: (now: number) => T,
  ): this {
    const { mark } = this;
    if (this.markedKeys.length < KEYS_PER_READ) this.markedKeys.push(key);
    // Collection is lazy (a record may stay readable for a minute after it):
    // whether a record is alive is decided when it is read.
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

  /** Writes what never ends: a shared secret, a head. */
  setForever(key: Deno.KvKey, value: unknown): this {
    this.#writes.push((operation) => operation.set(key, value));
    return this;
  }

  /**
   * Ends a record, which is collected a little later: unlike one that is gone
   * at once it tells who ended it.
   */
  end(key: Deno.KvKey, now: number): this {
    return this.set(key, { expiresAt: now });
  }

  /** Removes what no one competes to remove. */
  delete(...keys: Deno.KvKey[]): this {
    this.#writes.push((operation) => {
      for (const key of keys) operation.delete(key);
    });
    return this;
  }

  /** Sends it to the database. */
  async commit(
    kv: Deno.Kv,
    clock: Clock,
  ): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
    const operation = kv.atomic().check(...this.#checks);
    for (const write of this.#writes) write(operation, clock);
    return await operation.commit();
  }
}
