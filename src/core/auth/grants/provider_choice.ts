/**
 * Chooses a sign-in provider: the person picks one, or their e-mail address
 * decides. Also makes the URL of the authorization request to the provider,
 * with PKCE and `nonce`.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { base64url, fingerprint } from "../../crypto/crypto.ts";
import { keepCookie, readCookie } from "../../http/browser.ts";
import { page } from "../../pages/respond.ts";
import {
  ChooserPage,
  type ProviderOption,
} from "../../pages/provider_buttons.tsx";
import type { PageProps } from "../../pages/layout.tsx";
import type { ProviderHints } from "../../oauth/authorization_request.ts";
import { CONSENT_TTL_SECONDS } from "../../oauth/lifetimes.ts";
import type {
  SignInProvider,
  SignInProviders,
} from "../../provider/sign_in_providers.ts";
import { invalidRequest } from "../../oauth/parameters.ts";
import { deriveKey } from "../../oauth/refresh_token.ts";
import { codeChallenge } from "../../oauth/pkce.ts";

export function providerChoice(
  { baseUrl, providers, frame }: {
    baseUrl: string;
    providers: SignInProviders;
    frame: PageProps;
  },
) {
  const cookie = { name: "provider", baseUrl };

  /** Lists the providers, starting with the one last used in this browser. */
  function options(c: Context): ProviderOption[] {
    const last = readCookie(c, cookie);
    return providers.all.map(({ id, key, provider: { name } }) => ({
      key,
      name,
      isLast: providers.all.length > 1 && fingerprint(id) === last,
    })).toSorted((a, b) => Number(b.isLast) - Number(a.isLast));
  }

  return {
    options,

    /**
     * Finds the provider that a form names, or the one for the domain in
     * `login_hint`, or the only one. Undefined if the person has to choose:
     * none of these applies, or `prompt` is `select_account`.
     *
     * @throws {OAuthError} `invalid_request` if a form names a provider that is
     * not configured
     */
    find(
      { key, providerHints: { loginHint, prompts = [] } = {} }: {
        key?: string;
        providerHints?: ProviderHints;
      },
    ): SignInProvider | undefined {
      if (key === undefined) {
        const isAsked = prompts.includes("select_account");
        return providers.forAddress(isAsked ? undefined : loginHint);
      }
      const named = providers.find(key);
      if (named) return named;
      throw invalidRequest(
        "No such provider is here any more: start again in the app",
        "expired",
      );
    },

    /**
     * Shows the page for choosing a provider; its form goes to `POST
     * /authorize`.
     */
    ask: (c: Context, fields: readonly (readonly [string, string])[]) =>
      page(
        c,
        ChooserPage({
          ...frame,
          fields,
          action: `${frame.base}/authorize`,
          options: options(c),
        }),
        { forms: "any" },
      ),

    remember(c: Context, { id, key }: SignInProvider): void {
      if (key === undefined) return;
      keepCookie(c, cookie, fingerprint(id), CONSENT_TTL_SECONDS);
    },
  };
}

/** Makes the URL of the authorization request to a provider. */
export async function authorizationUrlOf(
  { provider, redirectUri, key }: SignInProvider,
  { handle, state = handle, browser, providerHints, isFresh }: {
    handle: string;
    /** The `state`; the handle of the client's request by default. */
    state?: string;
    browser: string;
    providerHints?: ProviderHints;
    /**
     * True if the person must sign in again even if they are signed in at the
     * provider.
     */
    isFresh?: boolean;
  },
): Promise<URL> {
  const { codeVerifier, nonce } = verifierAndNonce(handle, browser, { key });
  return await provider.authorizationUrl({
    ...providerHints,
    isFresh,
    state,
    nonce,
    codeChallenge: codeChallenge(codeVerifier),
    redirectUri,
  });
}

/**
 * Derives the PKCE verifier and the `nonce` of a sign-in from the browser's
 * cookie and the request's handle. Only this browser can then finish the
 * sign-in, because the database and the URLs do not reveal the cookie. Each
 * provider gets other values, so that none can redeem another's code.
 */
export function verifierAndNonce(
  handle: string,
  browser: string,
  { key }: { key?: string },
): { codeVerifier: string; nonce: string } {
  const name = key === undefined ? "upstream" : `upstream ${key}`;
  const derive = (purpose: string) =>
    base64url(deriveKey(`${browser} ${handle}`, `${name} ${purpose}`));
  return { codeVerifier: derive("code_verifier"), nonce: derive("nonce") };
}
