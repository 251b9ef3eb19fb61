/**
 * The errors while the provider does not answer.
 *
 * @module
 */
import { HttpError } from "../../errors.ts";

/**
 * Makes a 503: the same request may work in a moment, and nothing was used up.
 */
export function providerUnavailable(name: string, cause?: unknown): HttpError {
  return new HttpError(503, `${name} does not answer`, {
    "retry-after": "5",
  }, { cause, situation: "provider unavailable" });
}

/**
 * Makes a 503 for after the provider's code was exchanged: loading the page
 * again would present that code a second time.
 */
export function signInInterrupted(cause: unknown): HttpError {
  return new HttpError(
    503,
    "The sign-in was interrupted and cannot go on",
    { "retry-after": "5" },
    { cause, situation: "interrupted" },
  );
}
