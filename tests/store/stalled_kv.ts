/**
 * A database that stands still, and then carries out all that it was sent: a
 * process that was stopped, a disk that hangs, a network that holds packets.
 *
 * @module
 */

/** A handle like the one it is made of, whose operations can be held. */
export class StalledKv {
  readonly kv: Deno.Kv;
  #isAtCommit = false;
  #held?: PromiseWithResolvers<void>;
  readonly #late = new Set<Promise<unknown>>();

  constructor(real: Deno.Kv) {
    // deno-lint-ignore no-this-alias -- the proxy's methods have their own
    const stall = this;
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
              operation.commit = () => {
                if (stall.#isAtCommit) stall.begin();
                return run(commit);
              };
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

  /** From the next commit on nothing is carried out. */
  beginAtCommit(): void {
    this.#isAtCommit = true;
  }

  /** From now on nothing is carried out. */
  begin(): void {
    this.#isAtCommit = false;
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
