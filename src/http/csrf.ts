/**
 * CSRF tokens. Each proves that a form comes from a page that this server
 * rendered for this very session; every rendering has its own.
 *
 * @module
 */
import { fingerprint, isSameSecret, randomId } from "../crypto/crypto.ts";

/** Makes a token for the forms of one rendering. `sessionId` is secret. */
export function mintCsrf(sessionId: string): string {
  const nonce = randomId(16);
  return `${nonce}.${bind(nonce, sessionId)}`;
}

/** True if the token was made for this session. */
export function isCsrf(token: string, sessionId: string): boolean {
  const [nonce, bound = ""] = token.split(".");
  return isSameSecret(bound, bind(nonce, sessionId));
}

function bind(nonce: string, sessionId: string): string {
  return fingerprint(`csrf ${nonce} ${sessionId}`);
}
