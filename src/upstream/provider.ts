/**
 * The provider behind us: who people sign in with, and whose tokens a tool
 * may use in their name. We are its client.
 *
 * @module
 */
import type {
  ProviderApplication,
  ProviderConfig,
} from "../provider_config.ts";
import type { Identity } from "../caller.ts";
import { customProvider } from "./custom.ts";
import { checkDevProvider, DEV_CLIENT_ID, DEV_PATH } from "./dev.ts";
import { exchangeOver } from "./exchange.ts";
import { gitHubProvider } from "./github.ts";
import { type OpenIdOptions, openIdProvider } from "./openid.ts";
import { type Preset, PRESETS } from "./presets.ts";

export { UpstreamError, type UpstreamErrorKind } from "./error.ts";

/** The provider's tokens for one person. */
export interface UpstreamTokens {
  accessToken: string;
  /** As the provider spelled it: `Bearer`, `bearer`. */
  tokenType: string;
  refreshToken?: string;
  /** What was granted, where the provider told. */
  scope?: string;
  /** Epoch seconds; undefined: the access token does not expire by itself. */
  expiresAt?: number;
}

/** What the provider is asked when somebody is sent there. */
export interface UpstreamRequest {
  /** Comes back in the answer. */
  state: string;
  /** Comes back in the `id_token`, where there is one. */
  nonce: string;
  /** S256 (RFC 7636 §4.2). */
  codeChallenge: string;
  redirectUri: string;
}

/** A code that came back, with what the request was made of. */
export interface UpstreamResponse {
  code: string;
  codeVerifier: string;
  nonce: string;
  redirectUri: string;
  /** The `iss` parameter, where the answer had one (RFC 9207). */
  issuer?: string;
}

/** One provider. Every method throws {@linkcode UpstreamError}. */
export interface Provider {
  /** For people: "GitHub". */
  readonly name: string;
  /** Base of the provider's API; undefined where none is known. */
  readonly apiUrl?: string;
  /** Where to send the person. */
  authorizationUrl(request: UpstreamRequest): Promise<URL>;
  /** Exchanges a code, and learns who it is for. */
  redeem(
    response: UpstreamResponse,
  ): Promise<{ tokens: UpstreamTokens; identity: Identity }>;
  /** New tokens; the refresh token stays the old one where none is returned. */
  refresh(refreshToken: string): Promise<UpstreamTokens>;
  /** Ends the tokens at the provider, where it has a way to. */
  revoke?(tokens: UpstreamTokens): Promise<void>;
}

/** A provider's settings. */
export type ProviderSettings = ProviderConfig & {
  /** Our public origin. */
  baseUrl: string;
};

/** How a provider is reached. */
export interface ProviderDependencies {
  /**
   * `dev` is given the routes of `http/dev_provider.ts` here, so that it is
   * reached without a network.
   */
  fetch?: typeof fetch;
  /** How long the provider may take to answer; 10 by default. */
  timeoutSeconds?: number;
}

/** The provider that the settings name. Nothing is fetched yet. */
export function createProvider(
  settings: ProviderSettings,
  { fetch: send = fetch, timeoutSeconds }: ProviderDependencies = {},
): Provider {
  const exchange = exchangeOver(send, timeoutSeconds);
  switch (settings.provider) {
    case "dev": {
      const { baseUrl } = settings;
      checkDevProvider({ baseUrl, deployed: false });
      return openIdProvider(
        {
          name: "Dev Provider",
          issuer: `${baseUrl}${DEV_PATH}`,
          clientId: DEV_CLIENT_ID,
          extra: {},
          apiUrl: `${baseUrl}${DEV_PATH}`,
        },
        exchange,
      );
    }
    case "github": {
      const { issuer, extraAuthParams: extra } = settings;
      const origin = issuer && new URL(issuer).origin;
      return gitHubProvider({ ...settings, origin, extra }, exchange);
    }
    case "custom": {
      const { extraAuthParams: extra } = settings;
      return customProvider({ ...settings, extra }, exchange);
    }
    case "oidc": {
      const { issuer, extraAuthParams: extra } = settings;
      const name = new URL(issuer).host;
      return openIdProvider({ ...settings, name, extra }, exchange);
    }
    default:
      return openIdProvider(
        applyPreset(PRESETS[settings.provider], settings),
        exchange,
      );
  }
}

function applyPreset(
  preset: Preset,
  { clientId, clientSecret, issuer = preset.issuer, scopes, extraAuthParams }:
    & ProviderApplication
    & { issuer?: string },
): OpenIdOptions {
  const extra = { ...preset.extra, ...extraAuthParams };
  for (const name of preset.refusedParams ?? []) delete extra[name];
  return {
    ...preset,
    clientId,
    clientSecret,
    extra,
    issuer,
    scopes: scopes ?? preset.scopes,
    // The API of a self-hosted instance is on the instance.
    apiUrl: preset.apiUrl.replace(preset.issuer, issuer.replace(/\/$/, "")),
  };
}
