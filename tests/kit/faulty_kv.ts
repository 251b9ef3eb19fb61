/**
 * A database that fails at one of its operations, or stalls from there.
 *
 * @module
 */
import { kvThrough } from "./kv.ts";

/**
 * The faults of the n-th operation, and of those after it:
 *
 * - `refuses`: it fails and has not happened;
 * - `forgets`: it has happened and fails: the answer is lost;
 * - `repeats`: the repetition of a commit by a remote client that lost the
 *   answer;
 * - `hangs`: it has not happened and never answers;
 * - `hangs later`: it has happened and never answers;
 * - `holds`: it alone is delayed, and happens when everything else is over;
 * - `stalls`: it and all that follow are delayed, and happen in their order
 *   once a request was answered with 503;
 * - `dies`, `dies later`: the process ends before or after it.
 */
export const FAULTS = [
  "refuses",
  "forgets",
  "repeats",
  "hangs",
  "hangs later",
  "holds",
  "stalls",
  "dies",
  "dies later",
] as const;

export type Fault = typeof FAULTS[number];

/**
 * The longest stall, for work in the background, which answers no one with 503.
 */
const STALL_MILLISECONDS = 1000;

/** A handle on a database, with a fault to come. */
export class FaultyKv {
  /** The number of operations, without watches and probes of the database. */
  count = 0;
  isDead = false;
  isStalled = false;
  /** Called when the database goes on. */
  onEnd = () => {};
  readonly #death = Promise.withResolvers<void>();
  readonly #held: (() => Promise<void>)[] = [];
  #timer?: ReturnType<typeof setTimeout>;
  #carrying?: Promise<void>;
  readonly kv: Deno.Kv;

  constructor(
    real: Deno.Kv,
    private readonly fault?: { kind: Fault; at: number },
  ) {
    this.kv = kvThrough(
      real,
      (operation, key) => this.#run(operation, key?.[0] === "reachability"),
    );
  }

  /** Resolves when the process ends. */
  get death(): Promise<void> {
    return this.#death.promise;
  }

  /** True if the fault has happened. */
  get hasFailed(): boolean {
    return this.fault !== undefined && this.count >= this.fault.at;
  }

  /** Carries out all delayed operations, in their order. Calls share one run. */
  carryOut(): Promise<void> {
    return this.#carrying ??= this.#carryOut().finally(() =>
      this.#carrying = undefined
    );
  }

  async #carryOut(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.isStalled) this.onEnd();
    while (this.#held.length > 0) await this.#held.shift()!();
    this.isStalled = false;
  }

  #hold<T>(operation: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#held.push(() => operation().then(resolve, reject));
    return promise;
  }

  async #run<T>(operation: () => Promise<T>, isLook: boolean): Promise<T> {
    if (this.isDead) return await NEVER;
    if (this.isStalled) return await this.#hold(operation);
    if (isLook) return await operation();
    if (++this.count !== this.fault?.at) return await operation();
    const { kind } = this.fault;
    switch (kind) {
      case "stalls":
        this.isStalled = true;
        this.#timer = setTimeout(() => this.carryOut(), STALL_MILLISECONDS);
        return await this.#hold(operation);
      case "holds":
        return await this.#hold(operation);
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
