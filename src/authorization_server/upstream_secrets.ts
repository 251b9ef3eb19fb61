/**
 * What we need towards the provider between leaving for it and coming back.
 *
 * @module
 */
import { base64url } from "../crypto.ts";
import { deriveKey } from "../oauth/data_key.ts";

/**
 * The PKCE verifier and the nonce of one sign-in at the provider, made of the
 * browser's cookie and the request's handle: anyone who reads the database or
 * sees the addresses knows neither, and only this browser can finish.
 */
export function upstreamSecrets(
  handle: string,
  browser: string,
): { codeVerifier: string; nonce: string } {
  const derive = (purpose: string) =>
    base64url(deriveKey(`${browser} ${handle}`, `upstream ${purpose}`));
  return { codeVerifier: derive("code_verifier"), nonce: derive("nonce") };
}
