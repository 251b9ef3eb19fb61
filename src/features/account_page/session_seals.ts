/**
 * Encrypts values in forms, URLs or `state` for one browser session, so that no
 * other session can make or read them.
 *
 * @module
 */
import { seal, unseal } from "../../core/crypto/crypto.ts";
import { deriveKey } from "../../core/oauth/refresh_token.ts";

/**
 * Makes the functions that encrypt and decrypt a session's values of one
 * purpose.
 */
export function sessionSeals<T extends object>(
  sessionId: string,
  purpose: string,
  context?: string,
) {
  const key = deriveKey(sessionId, purpose);
  return {
    seal: (value: T): Promise<string> =>
      seal(key, JSON.stringify(value), context),

    /** Decrypts a value. Undefined if it is invalid or another session's. */
    open: (sealed = ""): Promise<T | undefined> =>
      unseal(key, sealed, context).then(JSON.parse, () => undefined),
  };
}
