/**
 * The choice among several providers, by the person or by an e-mail address;
 * and the URL of the authorization request at the provider, with PKCE and
 * nonce.
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
import { APPROVAL_TTL_SECONDS } from "../../oauth/lifetimes.ts";
import type {
  SignInProvider,
  SignInProviders,
} from "../../provider/sign_in_providers.ts";
import { invalidRequest } from "../../oauth/parameters.ts";
import { deriveKey } from "../../oauth/data_key.ts";
import { codeChallenge } from "../../oauth/pkce.ts";

export function providerChoice(
  { baseUrl, providers, frame }: {
    baseUrl: string;
    providers: SignInProviders;
    frame: PageProps;
  },
) {
  const cookie = { name: "provider", baseUrl };

  /** Lists the providers; the one that this browser used last comes first. */
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
     * Finds the provider that a form names, or that of the domain in
     * `login_hint`, or the only one. Returns undefined if the person has to
     * choose: there are several, and neither form nor domain names one, or
     * `prompt` is `select_account`.
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
     * Shows the page on which the person chooses; its form goes to `POST
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
      keepCookie(c, cookie, fingerprint(id), APPROVAL_TTL_SECONDS);
    },
  };
}

/**
 * Makes the URL of the authorization request that a browser takes to a
 * provider.
 */
export async function providerUrl(
  { provider, redirectUri, key }: SignInProvider,
  { handle, state = handle, browser, providerHints, isFresh }: {
    handle: string;
    /** The `state` of the authorization request; by default the handle. */
    state?: string;
    browser: string;
    providerHints?: ProviderHints;
    /** True if the provider must authenticate the person again. */
    isFresh?: boolean;
  },
): Promise<URL> {
  const { codeVerifier, nonce } = upstreamSecrets(handle, browser, { key });
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
 * Derives the PKCE verifier and the nonce of one sign-in at the provider from
 * the browser's cookie and the request's handle. Anyone who reads only the
 * database or the URLs cannot derive them, so only this browser can finish the
 * sign-in. Each of several providers has its own verifier and nonce, so that a
 * provider that the person left cannot redeem another provider's code.
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
