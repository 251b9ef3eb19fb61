/**
 * A process's view of a database. Once the process has died, its operations
 * never settle: neither new ones nor those in progress.
 *
 * @module
 */
import type {
  Kv,
  KvAtomic,
  KvCommit,
  KvEntry,
  KvKey,
  KvMissing,
} from "../../src/core/kv/kv.ts";

/** A key and the value that a commit sets. */
type Write = Pick<KvEntry, "key" | "value">;

/**
 * The side of the commit on which the process dies. Undefined if it does not
 * die.
 */
export type Verdict = "before" | "after" | undefined;

/** The database of one process. */
export class MortalKv {
  /** The database as the process has it. */
  readonly kv: Kv;
  /** Decides for each commit if the process dies before or after it. */
  judge: (writes: readonly Write[]) => Verdict = () => undefined;
  #isDead = false;
  readonly #death = Promise.withResolvers<void>();
  readonly #burial = Promise.withResolvers<void>();

  constructor(kv: Kv) {
    this.kv = {
      isRemote: kv.isRemote,
      get: (key) => this.#answer(() => kv.get(key), () => absent(key)),
      getMany: (keys) =>
        this.#answer(() => kv.getMany([...keys]), () => keys.map(absent)),
      list: (selector, options) => this.#list(kv, selector, options),
      watch: (keys) => this.#watch(kv.watch(keys)),
      atomic: () => this.#atomic(kv.atomic()),
      close: () => kv.close(),
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Resolves when the process has died. */
  get death(): Promise<void> {
    return this.#death.promise;
  }

  /** Makes every operation hang from now on, even those in progress. */
  die(): void {
    this.#isDead = true;
    this.#death.resolve();
  }

  /**
   * Ends the operations that hang, as if the database were empty, so that the
   * code of the dead process ends too.
   */
  bury(): void {
    this.die();
    this.#burial.resolve();
  }

  async #answer<T>(operation: () => Promise<T>, none: () => T): Promise<T> {
    if (!this.#isDead) {
      const answer = await operation();
      if (!this.#isDead) return answer;
    }
    await this.#burial.promise;
    return none();
  }

  async *#list(kv: Kv, ...args: Parameters<Kv["list"]>) {
    yield* await this.#answer(
      () => Array.fromAsync(kv.list(...args)),
      () => [],
    );
  }

  #watch<T>(stream: ReadableStream<T>): ReadableStream<T> {
    const reader = stream.getReader();
    let isCancelled = false;
    return new ReadableStream<T>({
      pull: async (controller) => {
        const { done, value } = await reader.read();
        if (isCancelled) return;
        if (this.#isDead) await this.#burial.promise;
        else if (!done) return controller.enqueue(value);
        if (!isCancelled) controller.close();
      },
      async cancel() {
        isCancelled = true;
        await reader.cancel();
      },
    }, { highWaterMark: 0 });
  }

  #atomic(atomic: KvAtomic): KvAtomic {
    const writes: Write[] = [];
    const { set, commit } = atomic;
    atomic.set = (key, value, options) => {
      writes.push({ key, value });
      return set.call(atomic, key, value, options);
    };
    atomic.commit = () =>
      this.#answer<KvCommit>(async () => {
        const verdict = this.judge(writes);
        if (verdict === "before") {
          this.die();
          return { ok: false };
        }
        const result = await commit.call(atomic);
        if (verdict === "after" && result.ok) this.die();
        return result;
      }, () => ({ ok: false }));
    return atomic;
  }
}

function absent(key: KvKey): KvMissing {
  return { key, value: null, versionstamp: null };
}
