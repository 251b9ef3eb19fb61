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
import { usualClaims } from "./memberships.ts";
import { addressRuleOf } from "./identity.ts";
import { gitHubProvider } from "./github.ts";
import { type OpenIdOptions, openIdProvider } from "./openid.ts";
import { type Preset, PRESETS } from "./presets.ts";
import type { Provider } from "./provider.ts";
import { upstreamFetch } from "./upstream_fetch.ts";

export type ProviderSettings = Exclude<ProviderConfig, { provider: "dev" }>;

/** Makes the provider that the settings select. Nothing is fetched yet. */
export function createProvider(
  settings: ProviderSettings,
  { fetch: send = fetch, timeoutSeconds, wanted }: {
    fetch?: typeof fetch;
    /** The seconds in which the provider must answer; 10 by default. */
    timeoutSeconds?: number;
    /** The memberships to find out; none by default. */
    wanted?: Wanted;
  } = {},
): Provider {
  const fetchUpstream = upstreamFetch(send, timeoutSeconds);
  switch (settings.provider) {
    case "github":
      return gitHubProvider({ ...settings, wanted }, fetchUpstream);
    case "custom":
      return customProvider(settings, fetchUpstream);
    case "oidc": {
      const { issuer, name = new URL(issuer).host } = settings;
      return openIdProvider({
        ...settings,
        name,
        memberships: wanted?.memberships,
        named: wanted?.named,
        claims: {
          isOwnAddress: addressRuleOf(issuer),
          memberships: usualClaims(settings),
        },
      }, fetchUpstream);
    }
    default:
      return openIdProvider({
        ...applyPreset(PRESETS[settings.provider], settings),
        memberships: wanted?.memberships,
      }, fetchUpstream);
  }
}

function applyPreset(
  preset: Preset,
  settings: ProviderApplication & { issuer?: string },
): OpenIdOptions {
  const { clientId, clientSecret, groupsClaim } = settings;
  const { name = preset.name, issuer = preset.issuer } = settings;
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
    claims: groupsClaim === undefined ? preset.claims : {
      ...preset.claims,
      memberships: { ...preset.claims?.memberships, groups: [groupsClaim] },
    },
    // The API of a self-hosted instance has the address of the instance.
    apiUrl: preset.apiUrl.replace(preset.issuer, issuer.replace(/\/$/, "")),
  };
}
