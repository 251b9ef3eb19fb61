/**
 * An author's code as long as the engine waits for it. It may be interrupted: where a
 * question or a sign-in has to come first, the engine goes on without the code,
 * which learns nothing. An exception would be the author's to catch, and
 * `catch` would do what no one has agreed to.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";
import type { Upstream } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import { Suspended } from "../../protocol/input_rounds.ts";
import type { Logger } from "../../log/log.ts";

/**
 * Gives the warning for code that goes on after it was interrupted; undefined
 * where that is no fault: the call was cancelled or refused.
 */
function warningFor(reason: unknown): string | undefined {
  if (reason instanceof Suspended) {
    return "A run went on after its question: what it gives is dropped, and what it does is done again with the answer";
  }
  if (reason instanceof ChallengeError) {
    return "A run went on although the sign-in behind it has ended: what it gives is dropped";
  }
  return undefined;
}

/**
 * Calls `next` with a value of an author's code, or with what its promise
 * gives: anything with `then`, such as a query builder. Other values are passed
 * on at once, because a promise for each step would cost a quick call a fifth
 * of its time.
 *
 * @param runOf finds the run, which rejects with its reason when it is interrupted first
 */
export function follow<T, R>(
  value: T | PromiseLike<T>,
  next: (value: T) => MaybePromise<R>,
  runOf?: () => AuthoredRun | undefined,
): MaybePromise<R> {
  if (!isThenable(value)) return next(value);
  return runOf?.()?.follow(value, next) ?? Promise.resolve(value).then(next);
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined)?.then === "function";
}

/** The author's code of one call, or of one task. */
export class AuthoredRun {
  #waiting = new Set<(reason: unknown) => void>();
  #interrupted?: { reason: unknown };
  #hasWarned = false;

  /** @param warn is told once when the code goes on though interrupted */
  constructor(private readonly warn: (message: string) => void) {}

  /** The reason for which it was interrupted; undefined if it was not. */
  get reason(): unknown {
    return this.#interrupted?.reason;
  }

  /**
   * Calls `next` with what an author's function gives. Rejects with the reason
   * when the run is interrupted first; a value after that is dropped, with a warning.
   */
  follow<T, R>(
    value: PromiseLike<T>,
    next: (value: T) => MaybePromise<R>,
  ): Promise<R> {
    return this.#until(Promise.resolve(value), next, () => this.goesOn());
  }

  /** Waits for the author's hook, which may end after an interruption unwarned. */
  wait<T>(value: MaybePromise<T>): Promise<T> {
    return this.#until(Promise.resolve(value), (value) => value, () => {});
  }

  /**
   * Interrupts the run: everyone who waits for it gets the first reason. The promise,
   * for the author's code, never settles. Nothing refers to it, so that what
   * waits for it is collected.
   */
  interrupt(reason: unknown): Promise<never> {
    this.#interrupted ??= { reason };
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const reject of waiting) reject(this.#interrupted.reason);
    return new Promise(() => {});
  }

  /** Warns, once, that the code goes on though it was interrupted. */
  goesOn(): void {
    const message = this.#interrupted && warningFor(this.#interrupted.reason);
    if (message === undefined || this.#hasWarned) return;
    this.#hasWarned = true;
    this.warn(message);
  }

  #until<T, R>(
    value: Promise<T>,
    next: (value: T) => MaybePromise<R>,
    onLate: () => void,
  ): Promise<R> {
    return new Promise((resolve, reject) => {
      if (this.#interrupted) {
        value.then(onLate, onLate);
        return reject(this.#interrupted.reason);
      }
      this.#waiting.add(reject);
      const settle = (go: () => void) => {
        if (!this.#waiting.delete(reject)) return onLate();
        try {
          go();
        } catch (error) {
          reject(error);
        }
      };
      value.then(
        (value) => settle(() => resolve(next(value))),
        (error) => settle(() => reject(error)),
      );
    });
  }
}

/**
 * Gives an author's code the provider's API. That the sign-in there has ended
 * interrupts the run instead of being thrown: it is for the client, which lets the
 * person sign in again, and no `catch` of an author may keep it from them.
 */
export function uncatchable(upstream: Upstream, run: AuthoredRun): Upstream {
  async function orInterrupt<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChallengeError)) throw error;
      return await run.interrupt(error);
    }
  }
  return {
    token: () => orInterrupt(() => upstream.token()),
    fetch: (input, init) => orInterrupt(() => upstream.fetch(input, init)),
  };
}

/**
 * Fires a signal of authors' code with an `AbortError`. A listener that throws
 * is an uncaught exception of the process, which would end it: it is logged
 * instead, as are those of signals that depend on this one.
 */
export function fire(
  abort: AbortController,
  reason: string,
  { log, reference }: { log: Logger; reference: () => string },
): void {
  if (abort.signal.aborted) return;
  const survive = (event: ErrorEvent) => {
    // The process may have a listener of its own.
    if (event.defaultPrevented) return;
    event.preventDefault();
    log.error("A listener of `signal` threw", {
      reference: reference(),
      error: event.error,
    });
  };
  globalThis.addEventListener?.("error", survive);
  try {
    abort.abort(new DOMException(reason, "AbortError"));
  } finally {
    globalThis.removeEventListener?.("error", survive);
  }
}
