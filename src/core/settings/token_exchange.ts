/**
 * The settings of token exchange: how a sign-in provider exchanges a person's
 * access token for a token of an outside service.
 *
 * @module
 */
import type { UpstreamAccount } from "../../authoring/account.ts";
import type { ProviderApplication, ProviderConfig } from "./application.ts";
import { PROVIDER } from "./provider.ts";
import { type ListedProvider, renameFor } from "./providers.ts";

/** RFC 8693, or Microsoft's older on-behalf-of grant. */
export type ExchangeKind = "token-exchange" | "on-behalf-of";

/** Matches the hosts of Microsoft Entra in its clouds. */
const ENTRA_HOST =
  /^login\.(microsoftonline\.(com|us)|partner\.microsoftonline\.cn)$|\.ciamlogin\.com$/;

/**
 * Returns the kind of a provider's token exchange; undefined if it has none.
 * GitHub, GitLab and Google document none for people who sign in there.
 */
export function exchangeKindOf(
  config: ProviderConfig,
): ExchangeKind | undefined {
  switch (config.provider) {
    case "microsoft":
      return "on-behalf-of";
    case "oidc":
      return ENTRA_HOST.test(new URL(config.issuer).hostname)
        ? "on-behalf-of"
        : "token-exchange";
    case "custom":
      return "token-exchange";
    default:
      return undefined;
  }
}

/**
 * Finds the provider whose tokens are exchanged for a service: the one that the
 * service names, or the only one that exchanges tokens. Undefined if there is
 * none, or several.
 */
export function exchangeProviderOf(
  { provider }: Pick<UpstreamAccount, "provider">,
  listed: readonly ListedProvider[],
): ListedProvider | undefined {
  const [only, ...others] = listed.filter(({ key, config }) =>
    exchangeKindOf(config) !== undefined &&
    (provider === undefined || provider === (key ?? config.provider))
  );
  return others.length === 0 ? only : undefined;
}

/**
 * Lists the unset settings without which no one can have an account at these
 * services. Microsoft only exchanges tokens for the application itself, so the
 * sign-in has to request one of its scopes.
 */
export function missingForExchange(
  services: readonly UpstreamAccount[],
  listed: readonly ListedProvider[] = [],
): string[] {
  const missing = services.flatMap((service) => {
    const found = exchangeProviderOf(service, listed);
    if (!found) return ["OAUTH_PROVIDER"];
    const { key, config } = found;
    return exchangeKindOf(config) === "on-behalf-of" &&
        config.provider !== "dev" && !asksForOwnScope(config)
      ? [renameFor(key)(PROVIDER.OAUTH_PROVIDER_SCOPES).name]
      : [];
  });
  return [...new Set(missing)];
}

/**
 * True if the sign-in requests a scope of this server's own application at
 * Microsoft.
 */
export function asksForOwnScope(
  { scopes = [], clientId }: Pick<ProviderApplication, "scopes" | "clientId">,
): boolean {
  return scopes.some((scope) =>
    scope.startsWith("api://") || scope.startsWith(`${clientId}/`)
  );
}
