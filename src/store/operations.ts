/**
 * Operations on a database that may be slow, busy or away: each has a
 * deadline, only so many are under way at once, and while the database does
 * not answer none is begun.
 *
 * @module
 */
import { StorageError } from "../errors.ts";
import { detached } from "../telemetry.ts";
import { whileLocked } from "./locked.ts";

/** How long an operation may take, with its time in the queue. */
export const DEADLINE_MILLISECONDS = 5000;
/** Deno's client for remote databases keeps what hangs, for ever. */
const MOST_AT_ONCE = 128;
/** What a process that was stopped finds answered gets this time to be read. */
const GRACE_MILLISECONDS = 100;
const LOOK_MILLISECONDS = 1000;

/** The database did not answer in time. */
export class DeadlineError extends Error {
  override name = "DeadlineError";
  constructor(milliseconds: number) {
    super(`The database has not answered for ${milliseconds} ms`);
  }
}

/** All operations of a process on one database. */
export class Operations {
  #underWay = 0;
  #queue: (() => void)[] = [];
  #awaited = 0;
  #idle?: PromiseWithResolvers<void>;
  /** Set while the database does not answer. */
  #failure?: DeadlineError;
  #lookedMilliseconds = -Infinity;
  #isLooking = false;

  /** @param look any cheap read: tells that the database answers again */
  constructor(
    private readonly look: () => Promise<unknown>,
    private readonly deadlineMilliseconds: number = DEADLINE_MILLISECONDS,
  ) {}

  /**
   * Runs one operation.
   *
   * @throws {StorageError} when the database fails, or does not answer in time
   */
  async run<T>(operation: () => Promise<T>): Promise<T> {
    if (this.#failure) {
      this.#lookAgain();
      throw new StorageError({ cause: this.#failure });
    }
    this.#awaited++;
    const { promise: over, reject } = Promise.withResolvers<never>();
    const state = { isOver: false, isBegun: false };
    let timer = setTimeout(() => {
      timer = setTimeout(() => {
        state.isOver = true;
        const error = new DeadlineError(this.#limit);
        if (state.isBegun) this.#goDown(error);
        reject(error);
      }, GRACE_MILLISECONDS);
    }, this.#limit);
    try {
      return await Promise.race([this.#take(operation, state), over]);
    } catch (cause) {
      throw isMisuse(cause) ? cause : new StorageError({ cause });
    } finally {
      clearTimeout(timer);
      if (--this.#awaited === 0) this.#idle?.resolve();
    }
  }

  /** Resolves when no one waits for an operation. */
  async idle(): Promise<void> {
    if (this.#awaited === 0) return;
    await (this.#idle = Promise.withResolvers<void>()).promise;
  }

  get #limit(): number {
    return this.deadlineMilliseconds;
  }

  async #take<T>(
    operation: () => Promise<T>,
    state: { isOver: boolean; isBegun: boolean },
  ): Promise<T> {
    if (this.#underWay >= MOST_AT_ONCE) {
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    } else this.#underWay++;
    try {
      // No one waits for it any more: it is not carried out.
      if (state.isOver) throw this.#failure;
      state.isBegun = true;
      const result = await whileLocked(operation, this.#limit);
      this.#failure = undefined;
      return result;
    } finally {
      // The place goes to the next in the queue, or is free.
      const next = this.#queue.shift();
      if (next) next();
      else this.#underWay--;
    }
  }

  #goDown(error: DeadlineError): void {
    this.#failure = error;
    this.#lookAgain();
  }

  /** One look at a time; it may hang until the database is back. */
  async #lookAgain(): Promise<void> {
    const time = performance.now();
    if (
      this.#isLooking || time - this.#lookedMilliseconds < LOOK_MILLISECONDS
    ) {
      return;
    }
    this.#isLooking = true;
    this.#lookedMilliseconds = time;
    try {
      await detached(this.look);
      this.#failure = undefined;
    } catch {
      // The next operation looks again.
    } finally {
      this.#isLooking = false;
    }
  }
}

/** What Deno KV says of arguments, in place of the database: a fault of ours. */
function isMisuse(error: unknown): boolean {
  return error instanceof TypeError &&
      /too (large|many|long)|non-negative|cannot be empty/i
        .test(error.message) ||
    error instanceof DOMException && error.name === "DataCloneError";
}
