/**
 * The secrets for the provider between leaving for it and coming back.
 *
 * @module
 */
import { base64url } from "../../crypto/crypto.ts";
import { deriveKey } from "../rules/data_key.ts";

/**
 * Derives the PKCE verifier and the nonce of one sign-in at the provider from
 * the browser's cookie and the request's handle. A reader of the database or of
 * the addresses cannot derive them, and only this browser can finish. Each of
 * several providers has others: one that was left on the way knows nothing that
 * a code of another needs.
 */
export function upstreamSecrets(
  handle: string,
  browser: string,
  { key }: { key?: string },
): { codeVerifier: string; nonce: string } {
  const name = key === undefined ? "upstream" : `upstream ${key}`;
  const derive = (purpose: string) =>
    base64url(deriveKey(`${browser} ${handle}`, `${name} ${purpose}`));
  return { codeVerifier: derive("code_verifier"), nonce: derive("nonce") };
}
