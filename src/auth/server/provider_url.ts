/**
 * The address at the provider for an approved request.
 *
 * @module
 */
import type { ProviderWishes } from "../rules/authorization_request.ts";
import { codeChallenge } from "../rules/pkce.ts";
import type { Provider } from "../provider/provider.ts";
import { askProvider } from "../provider/unavailable.ts";
import { upstreamSecrets } from "../grants/upstream_secrets.ts";

/**
 * Makes the function that gives the address of the provider's page for a
 * request of a browser. It throws 503 while the provider cannot be reached.
 */
export function providerUrls(
  { baseUrl, provider }: { baseUrl: string; provider: Provider },
) {
  return async function providerUrl(
    handle: string,
    browser: string,
    wishes?: ProviderWishes,
  ): Promise<URL> {
    const { codeVerifier, nonce } = upstreamSecrets(handle, browser);
    return await askProvider(provider, () =>
      provider.authorizationUrl({
        ...wishes,
        state: handle,
        nonce,
        codeChallenge: codeChallenge(codeVerifier),
        redirectUri: `${baseUrl}/oauth/provider-callback`,
      }));
  };
}
