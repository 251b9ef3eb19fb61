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

/** Makes the address of the provider's page for a request of a browser. */
export type ProviderUrl = (
  handle: string,
  browser: string,
  wishes?: ProviderWishes,
) => Promise<URL>;

/** Makes that function. It throws 503 while the provider cannot be reached. */
export function providerUrls(
  { baseUrl, provider }: { baseUrl: string; provider: Provider },
): ProviderUrl {
  return async function providerUrl(handle, browser, wishes) {
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
