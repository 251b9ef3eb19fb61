/**
 * The provider that the settings select.
 *
 * @module
 */
import type {
  ProviderApplication,
  ProviderConfig,
} from "../../settings/application.ts";
import { customProvider } from "./custom.ts";
import type { Wanted } from "../rules/permissions.ts";
import type { MembershipClaims } from "./memberships.ts";
import { addressRuleOf } from "./google.ts";
import { gitHubProvider } from "./github.ts";
import { type OpenIdOptions, openIdProvider } from "./openid.ts";
import { type Preset, PRESETS } from "./presets.ts";
import type { Provider } from "./provider.ts";
import { upstreamFetch } from "./upstream_fetch.ts";

/** A provider's settings. */
export type ProviderSettings = Exclude<ProviderConfig, { provider: "dev" }>;

/** The connection to a provider. */
export interface ProviderDependencies {
  fetch?: typeof fetch;
  /** The seconds in which the provider must answer; 10 by default. */
  timeoutSeconds?: number;
  /** The memberships to find out; none by default. */
  wanted?: Wanted;
}

/** Makes the provider that the settings select. Nothing is fetched yet. */
export function createProvider(
  settings: ProviderSettings,
  { fetch: send = fetch, timeoutSeconds, wanted }: ProviderDependencies = {},
): Provider {
  const memberships = wanted?.memberships;
  const fetchUpstream = upstreamFetch(send, timeoutSeconds);
  switch (settings.provider) {
    case "github": {
      const { issuer, extraAuthParams: extra } = settings;
      const origin = issuer && new URL(issuer).origin;
      return gitHubProvider(
        { ...settings, origin, extra, wanted },
        fetchUpstream,
      );
    }
    case "custom": {
      const { extraAuthParams: extra } = settings;
      return customProvider(
        { ...settings, extra, memberships: usualClaims(settings) },
        fetchUpstream,
      );
    }
    case "oidc": {
      const { issuer, extraAuthParams: extra } = settings;
      const { name = new URL(issuer).host } = settings;
      return openIdProvider({
        ...settings,
        name,
        extra,
        memberships,
        named: wanted?.named,
        claims: {
          isOwnAddress: addressRuleOf(issuer),
          memberships: usualClaims(settings),
        },
      }, fetchUpstream);
    }
    default:
      return openIdProvider(
        { ...applyPreset(PRESETS[settings.provider], settings), memberships },
        fetchUpstream,
      );
  }
}

/** Lists the claims that hold memberships at providers without a preset. */
export function usualClaims(
  { groupsClaim = "groups" }: Pick<ProviderApplication, "groupsClaim"> = {},
): MembershipClaims {
  return {
    groups: [groupsClaim],
    // The second is Keycloak's.
    roles: ["roles", "realm_access.roles"],
    organizations: ["org_id"],
  };
}

function applyPreset(
  preset: Preset,
  settings: ProviderApplication & { issuer?: string },
): OpenIdOptions {
  const { clientId, clientSecret, scopes, extraAuthParams, groupsClaim } =
    settings;
  const { name = preset.name, issuer = preset.issuer } = settings;
  const extra = { ...preset.extra, ...extraAuthParams };
  for (const name of preset.refusedParams ?? []) delete extra[name];
  return {
    ...preset,
    name,
    clientId,
    clientSecret,
    extra,
    issuer,
    scopes: scopes ?? preset.scopes,
    claims: groupsClaim === undefined ? preset.claims : {
      ...preset.claims,
      memberships: { ...preset.claims?.memberships, groups: [groupsClaim] },
    },
    // The API of a self-hosted instance has the address of the instance.
    apiUrl: preset.apiUrl.replace(preset.issuer, issuer.replace(/\/$/, "")),
  };
}
