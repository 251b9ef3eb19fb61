/**
 * A process's view of a database, which ends with the process: what it asks for
 * afterwards, and what it was asking for, is never answered.
 *
 * @module
 */

/** A key and the value that a commit sets. */
type Write = Pick<Deno.KvEntry<unknown>, "key" | "value">;

/** The side of a commit on which the process dies, if it does. */
export type Verdict = "before" | "after" | undefined;

/** The database of one process. */
export class MortalKv {
  /** The database as the process has it. */
  readonly kv: Deno.Kv;
  /** Judges every commit: the process may die before it or after it. */
  judge: (writes: readonly Write[]) => Verdict = () => undefined;
  #isDead = false;
  readonly #death = Promise.withResolvers<void>();
  readonly #burial = Promise.withResolvers<void>();

  constructor(kv: Deno.Kv) {
    const own: Partial<Deno.Kv> = {
      get: (key, options) =>
        this.#answer(
          () => kv.get(key, options) as Promise<Deno.KvEntryMaybe<unknown>>,
          () => absent(key),
        ) as never,
      getMany: (keys, options) =>
        this.#answer<Deno.KvEntryMaybe<unknown>[]>(
          () => kv.getMany<unknown[]>([...keys], options),
          () => keys.map(absent),
        ) as never,
      list: (selector, options) => this.#list(kv, selector, options) as never,
      watch: (keys, options) => this.#watch(kv.watch(keys, options)) as never,
      atomic: () => this.#atomic(kv.atomic()),
    };
    this.kv = new Proxy(kv, {
      get(_, name) {
        const value = Reflect.get(own, name) ?? Reflect.get(kv, name);
        return typeof value === "function" ? value.bind(kv) : value;
      },
    });
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Resolves when the process has died. */
  get death(): Promise<void> {
    return this.#death.promise;
  }

  /** Lets every operation hang from now on, those under way too. */
  die(): void {
    this.#isDead = true;
    this.#death.resolve();
  }

  /** Answers what hangs as an empty database would, so that it can end. */
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

  async *#list(kv: Deno.Kv, ...args: Parameters<Deno.Kv["list"]>) {
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

  #atomic(atomic: Deno.AtomicOperation): Deno.AtomicOperation {
    const writes: Write[] = [];
    const { set, commit } = atomic;
    atomic.set = (key, value, options) => {
      writes.push({ key, value });
      return set.call(atomic, key, value, options);
    };
    atomic.commit = () =>
      this.#answer<Deno.KvCommitResult | Deno.KvCommitError>(async () => {
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

function absent(key: Deno.KvKey): Deno.KvEntryMaybe<unknown> {
  return { key, value: null, versionstamp: null };
}
