/**
 * The gate of `AUTH_ANONYMOUS`: people try a server out, and sign in when
 * something needs it.
 *
 * @module
 */
import { type Authenticated, STRANGER } from "../caller.ts";
import type { Gate } from "./gate.ts";

/**
 * Lets those in who present nothing, as strangers without a scope. Anyone who
 * presents something is judged by it: a dead token is refused, or its client
 * would never ask for another.
 */
export function anonymousGate(
  gate: Gate,
  { keyHeader, ceiling }: {
    /** Where credentials may be besides `Authorization`. */
    keyHeader?: string;
    /** What a stranger is told of; undefined: everything there is. */
    ceiling?: readonly string[];
  } = {},
): Gate {
  const stranger: Authenticated = Object.freeze({
    caller: Object.freeze({ ...STRANGER, ...ceiling && { ceiling } }),
  });
  return {
    ...gate,
    authenticate: (headers) =>
      headers.has("authorization") ||
        keyHeader !== undefined && headers.has(keyHeader)
        ? gate.authenticate(headers)
        : stranger,
  };
}
