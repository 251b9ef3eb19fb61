/**
 * The gate of `AUTH_ANONYMOUS`: people can try a server, and sign in when
 * something needs it.
 *
 * @module
 */
import { type Authenticated, isStranger, STRANGER } from "../../caller.ts";
import type { Gate } from "./gate.ts";

/**
 * Lets a request without credentials in, as a stranger without a scope. A
 * request with credentials is judged by them: a dead token is refused, because
 * otherwise its client would never get another.
 */
export function anonymousGate(
  gate: Gate,
  { keyHeader, ceiling }: {
    /** A header besides `Authorization` that may hold credentials. */
    keyHeader?: string;
    /**
     * The scopes up to which a stranger sees the catalogue; undefined: all of
     * it.
     */
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
    restore: (caller) => isStranger(caller) ? stranger : gate.restore(caller),
  };
}
