/**
 * Two real OpenID providers behind one server.
 *
 * @module
 */
import { type Browser, browserOf } from "./browser.ts";
import {
  type OpenIdProvider,
  type OpenIdProviderOptions,
  startOpenIdProvider,
} from "./open_id_provider.ts";
import { type Answering, BASE_URL } from "./server.ts";

/** Two providers that one server lists. */
export interface TwoProviders extends AsyncDisposable {
  work: OpenIdProvider;
  partner: OpenIdProvider;
  environment: Record<string, string>;
  /** A database for their servers, in memory. */
  kv: Deno.Kv;
  /** A browser that reaches a server and both of them. */
  browser(server: Answering): Browser;
}

/** Starts two providers, under the names `work` and `partner`. */
export async function startTwoProviders(
  options: OpenIdProviderOptions = {},
): Promise<TwoProviders> {
  const [work, partner] = await Promise.all(
    ["work", "partner"].map((key) =>
      startOpenIdProvider(BASE_URL, { ...options, key })
    ),
  );
  const kv = await Deno.openKv(":memory:");
  return {
    work,
    partner,
    kv,
    environment: {
      BASE_URL,
      AUTH_STRATEGY: "oauth",
      OAUTH_PROVIDER: "work,partner",
      ...work.group,
      ...partner.group,
    },
    browser: (server) =>
      browserOf(server, { issuers: [work.issuer, partner.issuer] }),
    async [Symbol.asyncDispose]() {
      kv.close();
      await work[Symbol.asyncDispose]();
      await partner[Symbol.asyncDispose]();
    },
  };
}
