/**
 * A database that stands still, and then carries out all that it was sent: a
 * process that was stopped, a disk that hangs, a network that holds packets.
 *
 * @module
 */

/** A handle like the one it is made of, whose operations can be held. */
export class StalledKv {
  readonly kv: Deno.Kv;
  #held?: PromiseWithResolvers<void>;
  readonly #late = new Set<Promise<unknown>>();

  constructor(real: Deno.Kv) {
    const run = this.#run.bind(this);
    this.kv = new Proxy(real, {
      get(real, name) {
        switch (name) {
          case "get":
          case "getMany": {
            const read = real[name].bind(real) as (
              key: unknown,
            ) => Promise<unknown>;
            return (key: unknown) => run(() => read(key));
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

  /** From now on nothing is carried out. */
  begin(): void {
    this.#held = Promise.withResolvers();
  }

  /** Carries out, in its order, all that was sent; resolves when it is done. */
  async end(): Promise<void> {
    this.#held?.resolve();
    this.#held = undefined;
    await Promise.allSettled(this.#late);
  }

  async #run<T>(operation: () => Promise<T>): Promise<T> {
    if (!this.#held) return await operation();
    const late = this.#held.promise.then(operation);
    this.#late.add(late);
    try {
      return await late;
    } finally {
      this.#late.delete(late);
    }
  }
}
