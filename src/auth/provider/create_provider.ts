/**
 * The provider that the settings select, with presets for the OpenID providers
 * that are known by name.
 *
 * @module
 */
import {
  ENTRA_ID,
  isForEveryTenant,
  type ProviderApplication,
  type ProviderConfig,
} from "../../settings/application.ts";
import { exchangeKindOf } from "../../settings/token_exchange.ts";
import { customProvider } from "./custom.ts";
import type { NeededMemberships } from "../../oauth/permissions.ts";
import {
  addressRuleOf,
  type ClaimNames,
  GOOGLE_ISSUER,
  isGoogleAddress,
  namesIn,
  usualClaims,
} from "./identity.ts";
import { gitHubProvider } from "./github.ts";
import { type OpenIdOptions, openIdProvider } from "./openid.ts";
import type { Provider } from "./provider.ts";
import {
  type Ask,
  readObject,
  readPages,
  upstreamFetch,
} from "./upstream_fetch.ts";
import { isObject } from "../../json.ts";

/** The options of an OpenID provider, except our application there. */
type Preset =
  & Omit<OpenIdOptions, "clientId" | "clientSecret">
  & {
    apiUrl: string;
    /** The memberships that count where the people of every tenant sign in. */
    sharedMemberships?: Pick<ClaimNames, "memberships" | "isUnique">;
    /** Parameters that the provider answers with an error. */
    refusedParams?: readonly string[];
  };

/** Presets by `OAUTH_PROVIDER`; settings replace `extraAuthParams`. */
const PRESETS: Readonly<
  Record<"google" | "microsoft" | "gitlab", Preset>
> = {
  /** @see https://developers.google.com/identity/openid-connect/reference */
  google: {
    name: "Google",
    issuer: GOOGLE_ISSUER,
    scopes: ["openid", "email", "profile"],
    // Only with both does every sign-in give a refresh token.
    extraAuthParams: { access_type: "offline" },
    prompt: "consent",
    // Google documents no `login`.
    freshPrompt: "select_account",
    apiUrl: "https://www.googleapis.com",
    isTokenIssuer: (named, issuer) =>
      issuer === named || issuer === "accounts.google.com",
    // `hd` is the Workspace domain; as a parameter it would only be a hint.
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
    // Any tenant's administrator can write any address into `email`; this
    // optional claim says that the tenant owns its domain.
    claims: {
      emailVerified: "xms_edov",
      memberships: { roles: ["roles"], groups: ["groups"] },
    },
    // A tenant gives roles to its people as it likes. The object ID of a group
    // is Microsoft's to choose, and is no other group's.
    sharedMemberships: {
      memberships: { groups: ["groups"] },
      isUnique: (name) => ENTRA_ID.test(name),
    },
    readGroups: microsoftGroups,
    // Microsoft's userinfo takes only tokens for Graph, and has no more claims.
    userinfo: false,
    // AADSTS901002: v2.0 takes scopes instead.
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

/** Makes the provider that the settings select. Nothing is fetched yet. */
export function createProvider(
  settings: ProviderSettings,
  { fetch: send = fetch, timeoutSeconds, needed }: {
    fetch?: typeof fetch;
    /** The seconds in which the provider must answer; 10 by default. */
    timeoutSeconds?: number;
    /** The memberships to find out; none by default. */
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
          memberships: usualClaims(settings),
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
    // The API of a self-hosted instance has the address of the instance.
    apiUrl: preset.apiUrl.replace(preset.issuer, issuer.replace(/\/$/, "")),
  };
}

const TEMPLATE = "{tenantid}";

/**
 * True if the metadata of `configured` may have the issuer `named`: the same
 * one; or, if `configured` has an alias in place of a tenant (`common`,
 * `organizations`, `consumers`, a domain), one of the same origin with the
 * tenant, or with the template.
 */
export function isMicrosoftIssuer(configured: string, named: string): boolean {
  if (configured === named) return true;
  const asked = new URL(configured);
  const alias = asked.pathname.split("/")[1];
  const prefix = `${asked.origin}/`;
  const suffix = "/v2.0";
  if (!named.startsWith(prefix) || !named.endsWith(suffix)) return false;
  const tenant = named.slice(prefix.length, -suffix.length);
  return !ENTRA_ID.test(alias) &&
    (tenant === TEMPLATE || ENTRA_ID.test(tenant));
}

/**
 * True if `issuer` is that of the metadata, in which Microsoft may have a
 * template in place of a tenant. Then the issuer must have `tenant`; or any
 * tenant if it is undefined, as for an authorization response: the tenant of
 * its `id_token` is checked later.
 */
export function isTenantIssuer(
  template: string,
  issuer: string,
  tenant?: unknown,
): boolean {
  if (!template.includes(TEMPLATE)) return issuer === template;
  const [prefix, suffix] = template.split(TEMPLATE);
  const named = issuer.slice(prefix.length, issuer.length - suffix.length);
  return ENTRA_ID.test(named) && issuer === prefix + named + suffix &&
    (tenant === undefined || tenant === named);
}

const GRAPH = "https://graph.microsoft.com/v1.0/";

/**
 * Reads the groups of a person whose token says that they are too many for it;
 * undefined if the token has them. The address in the token is not used,
 * because it belongs to an older API.
 *
 * @see https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
async function microsoftGroups(
  claims: Readonly<Record<string, unknown>>,
  ask: Ask,
): Promise<{ groups: string[]; hasMore: boolean } | undefined> {
  const { _claim_names: elsewhere, hasgroups } = claims;
  const isTooMany = hasgroups === true || hasgroups === "true" ||
    isObject(elsewhere) && elsewhere.groups !== undefined;
  if (!isTooMany) return undefined;
  const first = `${GRAPH}me/transitiveMemberOf?$select=id&$top=999`;
  const { items, hasMore } = await readPages(ask, first, {
    what: "groups",
    within: GRAPH,
    async parse(response) {
      const answer = await readObject(response, new URL(GRAPH).host);
      return { items: answer.value, next: answer["@odata.nextLink"] };
    },
  });
  return { groups: namesIn(items.map(({ id }) => id)), hasMore };
}
