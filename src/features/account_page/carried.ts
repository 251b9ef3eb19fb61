/**
 * Values that a page, its address or a `state` carries for one session, sealed:
 * no other session can make or read them.
 *
 * @module
 */
import { seal, unseal } from "../../core/crypto/seal.ts";
import { deriveKey } from "../../core/oauth/data_key.ts";

/** Opens the values of one purpose that a session carries. */
export function carried<T extends object>(
  sessionId: string,
  purpose: string,
  context?: string,
) {
  const key = deriveKey(sessionId, purpose);
  return {
    seal: (value: T): Promise<string> =>
      seal(key, JSON.stringify(value), context),

    /** Opens a sealed value; undefined if it is another session's, or none. */
    open: (sealed = ""): Promise<T | undefined> =>
      unseal(key, sealed, context).then(JSON.parse, () => undefined),
  };
}
