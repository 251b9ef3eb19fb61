/**
 * An atomic operation of the database in memory.
 *
 * @module
 */
import { serialize } from "node:v8";

/** A mutation: without `bytes`, the key is deleted. */
export interface Mutation {
  key: Deno.KvKey;
  bytes?: Uint8Array;
  expireIn?: number;
}

/** The checks and mutations that are committed together. */
export class MemoryAtomic {
  #checks: Deno.AtomicCheck[] = [];
  #mutations: Mutation[] = [];

  constructor(
    private readonly run: (
      checks: readonly Deno.AtomicCheck[],
      mutations: readonly Mutation[],
    ) => Deno.KvCommitResult | Deno.KvCommitError,
  ) {}

  check(...checks: Deno.AtomicCheck[]): this {
    this.#checks.push(...checks);
    return this;
  }

  set(
    key: Deno.KvKey,
    value: unknown,
    { expireIn }: { expireIn?: number } = {},
  ): this {
    this.#mutations.push({ key, bytes: serialize(value), expireIn });
    return this;
  }

  delete(key: Deno.KvKey): this {
    this.#mutations.push({ key });
    return this;
  }

  // deno-lint-ignore require-await -- a refusal must be a rejection
  async commit(): Promise<Deno.KvCommitResult | Deno.KvCommitError> {
    return this.run(this.#checks, this.#mutations);
  }
}
