/**
 * What proves that a form comes from a page this server rendered for this
 * very session: a token of its own for every rendering.
 *
 * @module
 */
import { fingerprint, isSameSecret, randomId } from "../crypto.ts";

/** A token for the forms of one rendering. `sessionId` is secret. */
export function mintCsrf(sessionId: string): string {
  const nonce = randomId(16);
  return `${nonce}.${bind(nonce, sessionId)}`;
}

/** Whether a token was minted for this session. */
export function isCsrf(token: string, sessionId: string): boolean {
  const [nonce, bound = ""] = token.split(".");
  return isSameSecret(bound, bind(nonce, sessionId));
}

function bind(nonce: string, sessionId: string): string {
  return fingerprint(`csrf ${nonce} ${sessionId}`);
}
