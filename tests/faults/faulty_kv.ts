/**
 * A database that fails at one of its operations.
 *
 * @module
 */

/**
 * The faults of the n-th operation, and of those after it:
 *
 * - `refuses`: it fails and has not happened;
 * - `forgets`: it has happened and fails: the answer is lost;
 * - `repeats`: the repetition of a commit by a remote client that lost the
 *   answer;
 * - `hangs`: it has not happened and never answers;
 * - `hangs later`: it has happened and never answers;
 * - `dies`, `dies later`: the process ends before or after it.
 */
export const FAULTS = [
  "refuses",
  "forgets",
  "repeats",
  "hangs",
  "hangs later",
  "dies",
  "dies later",
] as const;

export type Fault = typeof FAULTS[number];

/** A handle on a database, with a fault to come. */
export class FaultyKv {
  /** The number of operations, without watches and probes of the database. */
  count = 0;
  isDead = false;
  readonly #death = Promise.withResolvers<void>();
  readonly kv: Deno.Kv;

  constructor(
    private readonly real: Deno.Kv,
    private readonly fault?: { kind: Fault; at: number },
  ) {
    const run = this.#run.bind(this);
    this.kv = new Proxy(real, {
      get(real, name) {
        switch (name) {
          case "get":
          case "getMany": {
            const read = real[name].bind(real) as (
              key: unknown,
            ) => Promise<unknown>;
            return (key: Deno.KvKey) =>
              key[0] === "look" ? read(key) : run(() => read(key));
          }
          case "list":
            return async function* (...args: Parameters<Deno.Kv["list"]>) {
              yield* await run(() => Array.fromAsync(real.list(...args)));
            };
          case "atomic":
            return () => {
              const operation = real.atomic();
              const commit = operation.commit.bind(operation);
              operation.commit = () => run(commit);
              return operation;
            };
          default: {
            const member = Reflect.get(real, name);
            return typeof member === "function" ? member.bind(real) : member;
          }
        }
      },
    });
  }

  /** Resolves when the process ends. */
  get death(): Promise<void> {
    return this.#death.promise;
  }

  /** True if the fault has happened. */
  get hasFailed(): boolean {
    return this.fault !== undefined && this.count >= this.fault.at;
  }

  async #run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.isDead) return await NEVER;
    if (++this.count !== this.fault?.at) return await operation();
    const { kind } = this.fault;
    switch (kind) {
      case "repeats":
        await operation();
        return await operation();
      case "forgets":
      case "hangs later":
      case "dies later":
        await operation();
    }
    if (kind === "dies" || kind === "dies later") {
      this.isDead = true;
      this.#death.resolve();
    }
    if (kind === "refuses" || kind === "forgets") {
      throw new Error("connection reset");
    }
    return await NEVER;
  }
}

const NEVER = new Promise<never>(() => {});
