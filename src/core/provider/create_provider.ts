/**
 * Makes the provider that the settings select, with presets for OpenID
 * providers known by name.
 *
 * @module
 */
import { sendOnce } from "../net/send_once.ts";
import {
  ENTRA_ID,
  isForEveryTenant,
  type ProviderApplication,
  type ProviderConfig,
} from "../settings/application.ts";
import { asksForOwnScope, exchangeKindOf } from "../settings/token_exchange.ts";
import { customProvider } from "./custom.ts";
import type { NeededMemberships } from "../oauth/permissions.ts";
import {
  addressRuleOf,
  type ClaimNames,
  GOOGLE_ISSUER,
  isGoogleAddress,
  usualMembershipClaims,
} from "./identity.ts";
import { gitHubProvider } from "./github.ts";
import {
  fetchOverageGroups,
  isMicrosoftIssuer,
  isTenantIssuer,
} from "./microsoft.ts";
import { type OpenIdOptions, openIdProvider } from "./openid.ts";
import type { Provider } from "./provider.ts";
import { upstreamFetch } from "./upstream_fetch.ts";

/** The options of an OpenID provider, except the client's. */
type Preset =
  & Omit<OpenIdOptions, "clientId" | "clientSecret">
  & {
    apiUrl: string;
    /** The membership claims to use if people of every tenant can sign in. */
    sharedMemberships?: Pick<ClaimNames, "memberships" | "isUnique">;
    /** Parameters that the provider refuses. */
    refusedParams?: readonly string[];
  };

/**
 * Presets by the value of `OAUTH_PROVIDER`. The setting replaces
 * `extraAuthParams`.
 */
const PRESETS: Readonly<
  Record<"google" | "microsoft" | "gitlab", Preset>
> = {
  /** @see https://developers.google.com/identity/openid-connect/reference */
  google: {
    name: "Google",
    issuer: GOOGLE_ISSUER,
    scopes: ["openid", "email", "profile"],
    // Google issues a refresh token at every sign-in only with both
    // parameters.
    extraAuthParams: { access_type: "offline" },
    prompt: "consent",
    // Google documents no `prompt=login`.
    freshPrompt: "select_account",
    apiUrl: "https://www.googleapis.com",
    isTokenIssuer: (named, issuer) =>
      issuer === named || issuer === "accounts.google.com",
    // The claim `hd` proves the Workspace domain; the parameter `hd` is only
    // a hint.
    claims: {
      isOwnAddress: isGoogleAddress,
      memberships: { organizations: ["hd"] },
    },
  },
  /** @see https://learn.microsoft.com/entra/identity-platform/v2-protocols-oidc */
  microsoft: {
    name: "Microsoft",
    issuer: "https://login.microsoftonline.com/common/v2.0",
    scopes: ["openid", "profile", "email", "offline_access", "User.Read"],
    extraAuthParams: {},
    apiUrl: "https://graph.microsoft.com/v1.0",
    isMetadataIssuer: isMicrosoftIssuer,
    isTokenIssuer: isTenantIssuer,
    // The administrator of any tenant can write any address into `email`.
    // This optional claim says that the tenant owns the address's domain.
    claims: {
      emailVerified: "xms_edov",
      memberships: { roles: ["roles"], groups: ["groups"] },
    },
    // The administrator of any tenant can choose the names of roles. The
    // object ID of a group is chosen by Microsoft, and unique.
    sharedMemberships: {
      memberships: { groups: ["groups"] },
      isUnique: (name) => ENTRA_ID.test(name),
    },
    readGroups: fetchOverageGroups,
    // Microsoft's userinfo endpoint accepts only tokens for Graph, and has
    // no claims beyond those of the `id_token`.
    userinfo: false,
    // Error AADSTS901002: the v2.0 endpoint takes scopes instead.
    refusedParams: ["resource"],
  },
  /** @see https://docs.gitlab.com/integration/openid_connect_provider/ */
  gitlab: {
    name: "GitLab",
    issuer: "https://gitlab.com",
    scopes: ["openid", "profile", "email", "read_user"],
    extraAuthParams: {},
    apiUrl: "https://gitlab.com/api/v4",
    claims: { memberships: { groups: ["groups"] } },
  },
};

export type ProviderSettings = Exclude<ProviderConfig, { provider: "dev" }>;

/** Makes the provider that the settings select, without sending a request. */
export function createProvider(
  settings: ProviderSettings,
  { fetch: send = sendOnce, timeoutSeconds, needed }: {
    fetch?: typeof fetch;
    /** The time-out of a request to the provider; 10 s by default. */
    timeoutSeconds?: number;
    /** The memberships to read; none by default. */
    needed?: NeededMemberships;
  } = {},
): Provider {
  const fetchUpstream = upstreamFetch(send, timeoutSeconds);
  switch (settings.provider) {
    case "github":
      return gitHubProvider({ ...settings, needed }, fetchUpstream);
    case "custom":
      return customProvider(settings, fetchUpstream);
    case "oidc": {
      const { issuer, name = new URL(issuer).host } = settings;
      return openIdProvider({
        ...settings,
        name,
        exchange: exchangeKindOf(settings),
        memberships: needed?.memberships,
        named: needed?.named,
        claims: {
          isOwnAddress: addressRuleOf(issuer),
          memberships: usualMembershipClaims(settings),
        },
      }, fetchUpstream);
    }
    default:
      return openIdProvider({
        ...applyPreset(PRESETS[settings.provider], settings),
        exchange: exchangeKindOf(settings),
        memberships: needed?.memberships,
      }, fetchUpstream);
  }
}

function applyPreset(
  { sharedMemberships, ...preset }: Preset,
  settings: ProviderApplication & {
    provider: ProviderConfig["provider"];
    issuer?: string;
  },
): OpenIdOptions {
  const { clientId, clientSecret, groupsClaim } = settings;
  const { name = preset.name, issuer = preset.issuer } = settings;
  const own = isForEveryTenant(settings)
    ? sharedMemberships
    : groupsClaim !== undefined && {
      memberships: { ...preset.claims?.memberships, groups: [groupsClaim] },
    };
  const extraAuthParams = {
    ...preset.extraAuthParams,
    ...settings.extraAuthParams,
  };
  for (const name of preset.refusedParams ?? []) delete extraAuthParams[name];
  return {
    ...preset,
    name,
    clientId,
    clientSecret,
    extraAuthParams,
    issuer,
    scopes: settings.scopes ?? preset.scopes,
    claims: { ...preset.claims, ...own },
    // With a scope of this server's own API, Graph refuses the access token.
    readGroups: asksForOwnScope(settings)
      ? async (claims) => await preset.readGroups?.(claims)
      : preset.readGroups,
    // A self-hosted instance has its API at its own URL.
    apiUrl: preset.apiUrl.replace(preset.issuer, issuer.replace(/\/$/, "")),
  };
}
