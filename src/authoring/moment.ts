/**
 * A moment that durable work waits for: a word from outside, such as a payment
 * that a webhook tells of.
 *
 * @module
 */
import type { MaybePromise } from "./service.ts";

/** The options of {@linkcode import("./context.ts").Context.wait}. */
export interface WaitOptions {
  /** Says in the task's status what is waited for. */
  message: string;
  /**
   * Begins what will answer, and gives it the token. Whoever has the token
   * answers: it is a secret. It may run again with the same token.
   */
  open(token: string): MaybePromise<unknown>;
  /** The longest time to wait. */
  seconds: number;
}
