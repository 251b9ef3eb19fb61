/**
 * A database that stalls, and then carries out all that it was sent: a
 * process that was stopped, a disk that hangs, a network that holds packets.
 *
 * @module
 */
import { atomicWith, kvThrough, kvWith } from "./kv.ts";

/** A handle like the one it is made of, whose operations can be delayed. */
export class StalledKv {
  readonly kv: Deno.Kv;
  #isAtCommit = false;
  #held?: PromiseWithResolvers<void>;
  /** Settles after the last operation that was delayed. */
  #last?: Promise<unknown>;
  readonly #late = new Set<Promise<unknown>>();

  constructor(real: Deno.Kv) {
    const kv = kvThrough(real, (operation) => this.#run(operation));
    this.kv = kvWith(kv, {
      atomic: atomicWith(kv, (commit) => {
        if (this.#isAtCommit) this.begin();
        return commit();
      }),
    });
  }

  /** True while nothing is carried out. */
  get isStalled(): boolean {
    return this.#held !== undefined;
  }

  /** Stalls the database from the next commit on. */
  beginAtCommit(): void {
    this.#isAtCommit = true;
  }

  /** Stalls the database from now on. */
  begin(): void {
    this.#isAtCommit = false;
    this.#held = Promise.withResolvers();
    this.#last = this.#held.promise;
  }

  /**
   * Ends the stall: carries out, in its order, all that was sent. Resolves when
   * it is done.
   */
  async end(): Promise<void> {
    this.#held?.resolve();
    this.#held = undefined;
    await Promise.allSettled(this.#late);
  }

  async #run<T>(operation: () => Promise<T>): Promise<T> {
    if (!this.#held) return await operation();
    const late = this.#last!.then(operation);
    this.#last = late.catch(() => {});
    this.#late.add(late);
    try {
      return await late;
    } finally {
      this.#late.delete(late);
    }
  }
}
