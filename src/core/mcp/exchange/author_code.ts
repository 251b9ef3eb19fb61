/**
 * The code of an author while it runs, which the engine can interrupt. When a
 * question or a sign-in has to come first, the engine stops waiting for the
 * code without telling it. An exception could be caught, and the code could
 * then do what no one has agreed to.
 * @module
 */
import type { MaybePromise } from "../../../authoring/service.ts";
import type { Upstream } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import { makeOnce } from "../../cache.ts";
import type { ToolFetchOptions } from "../../net/bounded_answer.ts";
import { Suspended } from "../../protocol/input_rounds.ts";
import type { Logger } from "../../log/log.ts";
import type { LimitKey } from "./limits.ts";
import type { GivenKeys } from "./given_keys.ts";

const heldAnswers = makeOnce(() => import("./held_answers.ts"));
const givenKeys = makeOnce(() => import("./given_keys.ts"));

/**
 * Returns the warning for code that still runs after it was interrupted.
 * Undefined if the call was cancelled or refused, because then the code may run
 * on.
 */
function warningFor(reason: unknown): string | undefined {
  return reason instanceof Suspended
    ? "A run went on after its question: what it gives is dropped, and what it does is done again with the answer"
    : reason instanceof ChallengeError
    ? "A run went on although the sign-in behind it has ended: what it gives is dropped"
    : undefined;
}

/**
 * Calls `next` with the value that an author's code returned. A promise, or any
 * object with `then`, such as a query builder, is awaited first. Other values
 * are passed on at once, because a promise for each step would make a quick
 * call a fifth slower.
 * @param codeOf returns the author's code; if that is interrupted, `andThen`
 * stops waiting
 */
export function andThen<T, R>(
  value: T | PromiseLike<T>,
  next: (value: T) => MaybePromise<R>,
  codeOf?: () => AuthorCode | undefined,
): MaybePromise<R> {
  if (!isThenable(value)) return next(value);
  return codeOf?.()?.andThen(value, next) ??
    Promise.resolve(value).then(next);
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined)?.then === "function";
}

/** The author's code of one call, or of one task, while it runs. */
export class AuthorCode {
  #waiting = new Set<(reason: unknown) => void>();
  #interrupted?: { reason: unknown };
  #hasWarned = false;
  /**
   * The keys and tokens that the code has received; see {@linkcode givenTo}.
   */
  given?: GivenKeys;

  /** @param warn called once, if the code runs on after it was interrupted */
  constructor(private readonly warn: (message: string) => void) {}

  /** The reason of the interruption; undefined if there was none. */
  get reason(): unknown {
    return this.#interrupted?.reason;
  }

  /**
   * Removes received keys from an error that the code has thrown. Every
   * exception of an author's function passes here before it is stored, logged
   * or sent.
   */
  clean(thrown: unknown): unknown {
    return this.given && thrown !== this.reason
      ? this.given.clean(thrown)
      : thrown;
  }

  /** Removes received keys from a JSON text. */
  cleanJson(text: string): string {
    return this.given?.cleanJson(text) ?? text;
  }

  /** Removes received keys from the code's data. */
  cleanData<T>(data: T): T {
    return this.given?.cleanData(data) ?? data;
  }

  /**
   * Calls `next` with the result of an author's function. If an interruption
   * comes first, rejects with its reason. The later result is dropped, with a
   * warning.
   */
  andThen<T, R>(
    value: PromiseLike<T>,
    next: (value: T) => MaybePromise<R>,
  ): Promise<R> {
    return this.#until(Promise.resolve(value), next, () => this.goesOn());
  }

  /**
   * Waits for a hook of the author. No warning is logged if the hook ends after
   * an interruption.
   */
  wait<T>(value: MaybePromise<T>): Promise<T> {
    return this.#until(Promise.resolve(value), (value) => value, () => {});
  }

  /**
   * Interrupts the code: all who wait for it get the reason of the first
   * interruption. Returns a promise that never settles. Nothing else refers to
   * it, so code that awaits it is garbage collected.
   */
  interrupt(reason: unknown): Promise<never> {
    this.#interrupted ??= { reason };
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const reject of waiting) reject(this.#interrupted.reason);
    return new Promise(() => {});
  }

  /** Warns once that the code runs on after it was interrupted. */
  goesOn(): void {
    const message = warningFor(this.reason);
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

/** The members of a call or task that {@linkcode Acting} uses. */
interface ActingWork {
  readonly overSignal: AbortSignal;
  isOver(): boolean;
  readonly authorCode?: AuthorCode;
  readonly limitKey?: LimitKey;
}

/**
 * Sends the requests of an author's code for its caller: with the provider's
 * token, or with the person's key at a service. They are aborted when the call
 * or task is over.
 */
export class Acting {
  /** @param work returns the call, or the task that the call has become */
  constructor(private readonly work: () => ActingWork) {}

  /**
   * Runs a function. Rejects if the call or task is over before, or ends while
   * it runs.
   *
   * Interrupted code gets neither result nor exception. The same holds if the
   * sign-in at the provider has ended: the person has to sign in again, and a
   * `catch` of the author must not prevent that.
   *
   * @throws {DOMException} `AbortError` if the call or task is over
   */
  async do<T>(act: (work: ActingWork) => MaybePromise<T>): Promise<T> {
    const work = this.work();
    try {
      if (work.isOver()) throw work.overSignal.reason;
      const value = await act(work);
      if (work.isOver()) throw work.overSignal.reason;
      return value;
    } catch (error) {
      const reason = error instanceof ChallengeError
        ? error
        : work.isOver()
        ? work.authorCode?.reason
        : undefined;
      if (!work.authorCode || reason === undefined) throw error;
      return await work.authorCode.interrupt(reason);
    }
  }

  /**
   * Makes a `fetch` whose requests and response bodies are aborted when the
   * call or task is over.
   */
  fetch<I>(
    send: (input: I, init: RequestInit & ToolFetchOptions) => Promise<Response>,
  ): (input: I, init?: RequestInit) => Promise<Response> {
    return (input, init = {}) =>
      this.do(async ({ overSignal, limitKey }) => {
        const signal = AbortSignal.any([overSignal, init.signal ?? overSignal]);
        const { countHeldBytes } = await heldAnswers();
        const hold = () => countHeldBytes(limitKey);
        return await send(input, { ...init, signal, hold });
      });
  }

  /**
   * Wraps the provider's API: its requests are aborted when the call or task is
   * over.
   */
  through(upstream: Upstream): Upstream {
    return {
      token: () =>
        this.do(async ({ authorCode }) => {
          const token = await upstream.token();
          const { givenTo } = await givenKeys();
          if (authorCode) givenTo(authorCode).addToken(token);
          return token;
        }),
      fetch: this.fetch((input, init) => upstream.fetch(input, init)),
    };
  }
}

/**
 * Aborts a signal of an author's code with an `AbortError`. An exception in a
 * listener would end the process as uncaught. It is logged instead, also for
 * signals that depend on this one.
 */
export function abortSafely(
  abort: AbortController,
  reason: string,
  { log, reference, code }: {
    log: Logger;
    reference: () => string;
    /** Returns the code that listens to the signal. */
    code: () => AuthorCode | undefined;
  },
): void {
  if (abort.signal.aborted) return;
  const survive = (event: ErrorEvent) => {
    // A listener of the process may have handled the error.
    if (event.defaultPrevented) return;
    event.preventDefault();
    log.error("A listener of `signal` threw", {
      reference: reference(),
      error: code()?.clean(event.error) ?? event.error,
    });
  };
  globalThis.addEventListener?.("error", survive);
  try {
    abort.abort(new DOMException(reason, "AbortError"));
  } finally {
    globalThis.removeEventListener?.("error", survive);
  }
}
