/**
 * The address at the provider for an approved request, and the secrets between
 * leaving for it and coming back.
 *
 * @module
 */
import { base64url } from "../../crypto/crypto.ts";
import type { ProviderWishes } from "../rules/authorization_request.ts";
import { deriveKey } from "../rules/data_key.ts";
import { codeChallenge } from "../rules/pkce.ts";
import type { SignInProvider } from "../provider/sign_in_providers.ts";

/**
 * Gives the address of a provider's page for a request of a browser.
 *
 * @throws {import("../provider/provider.ts").UpstreamError}
 */
export async function providerUrl(
  { provider, redirectUri, key }: SignInProvider,
  { handle, state = handle, browser, wishes }: {
    handle: string;
    /** The handle by default. */
    state?: string;
    browser: string;
    wishes?: ProviderWishes;
  },
): Promise<URL> {
  const { codeVerifier, nonce } = upstreamSecrets(handle, browser, { key });
  return await provider.authorizationUrl({
    ...wishes,
    state,
    nonce,
    codeChallenge: codeChallenge(codeVerifier),
    redirectUri,
  });
}

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
