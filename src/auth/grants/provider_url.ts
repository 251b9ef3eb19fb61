/**
 * The address at the provider for an approved request.
 *
 * @module
 */
import type { ProviderWishes } from "../rules/authorization_request.ts";
import { codeChallenge } from "../rules/pkce.ts";
import type { SignInProvider } from "../provider/sign_in_providers.ts";
import { upstreamSecrets } from "./upstream_secrets.ts";

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
