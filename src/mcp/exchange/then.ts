/**
 * Values that may be there already. A quick call waits for nothing but its
 * body: a promise for each of its steps would cost it a fifth of its time.
 *
 * @module
 */
import type { MaybePromise } from "../../authoring/service.ts";

export type { MaybePromise };

/** Goes on with a value, at once if it is there. */
export function then<T, R>(
  value: T | PromiseLike<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}

/**
 * True for anything with `then`: a query builder may have it without being a
 * promise.
 */
export function isThenable<T>(
  value: T | PromiseLike<T>,
): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined)?.then === "function";
}
