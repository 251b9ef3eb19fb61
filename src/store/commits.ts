/**
 * Commits that recognize themselves. A lost answer is no failure: a remote
 * client repeats the transaction by itself, and its checks then fail because of
 * its own writes. So the records are read again to see if they are this
 * transaction's.
 *
 * @module
 */
import type { Clock } from "../clock.ts";
import type { StorageError } from "../errors.ts";
import type { CommitTry, Fence } from "./fence.ts";
import {
  isTransient,
  type Operations,
  pauseAfter,
  TRIES,
} from "./operations.ts";
import type { Marked } from "./record.ts";
import { Transaction, type Write } from "./transaction.ts";

export class Commits {
  constructor(
    private readonly kv: Deno.Kv,
    private readonly operations: Operations,
    private readonly fence: Fence,
    private readonly clock: Clock,
  ) {}

  /** Commits what {@linkcode import("./database.ts").Database.commit} is given. */
  async commit(build: Write): Promise<string | undefined> {
    const transaction = new Transaction();
    build(transaction);
    for (let tries = 1;;) {
      if (this.fence.isDue) await this.fence.settle();
      const commitTry = this.fence.begin();
      let isSent = false;
      try {
        const result = await this.operations.run(() => {
          isSent = true;
          return transaction.commit(this.kv, {
            ...commitTry,
            clock: this.clock,
          });
        });
        if (result.ok) return result.versionstamp;
      } catch (error) {
        if (!isTransient(error)) throw error;
        if (isSent) {
          const applied = await this.#settled(transaction, commitTry, error);
          if (applied) return applied;
        }
        if (tries === TRIES) throw error;
        await pauseAfter(tries++);
        continue;
      }
      const applied = await this.#versionOf(transaction, commitTry)
        .catch((error) => {
          this.fence.owe(commitTry);
          throw error;
        });
      // The check that failed may be that of the fence alone.
      if (applied || !this.fence.isClosedTo(commitTry)) return applied;
    }
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
    this.fence.giveUp(commitTry);
    try {
      await this.fence.settle();
      return await this.#versionOf(transaction, commitTry);
    } catch {
      this.fence.owe(commitTry);
      throw error;
    }
  }

  /** Finds the version at which a try of a transaction was applied, if it was. */
  async #versionOf(
    { markedKeys }: Transaction,
    { mark }: CommitTry,
  ): Promise<string | undefined> {
    if (markedKeys.length === 0) return undefined;
    const entries = await this.operations.repeat(() =>
      this.kv.getMany<Marked[]>(markedKeys)
    );
    return entries.find(({ value }) => value?.mark === mark)
      ?.versionstamp ?? undefined;
  }
}
