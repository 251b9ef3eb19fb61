/**
 * What everybody is told while the provider does not answer.
 *
 * @module
 */
import { HttpError } from "../errors.ts";

/** 503: the same request may work in a moment, and nothing was used up. */
export function providerUnavailable(name: string, cause: unknown): HttpError {
  return new HttpError(503, `${name} does not answer`, {
    "retry-after": "5",
  }, { cause, situation: "provider unavailable" });
}
