/**
 * A plain OAuth 2 provider, known by its endpoints only.
 *
 * @see RFC 6749
 * @module
 */
import { buildAuthorizationUrl } from "./authorization_url.ts";
import type { Exchange } from "./exchange.ts";
import { parseIdentity } from "./identity.ts";
import { requestUserinfo } from "./openid.ts";
import type { Provider } from "./provider.ts";
import {
  type Application,
  requestTokens,
  revokeToken,
} from "./token_endpoint.ts";

/** A provider's endpoints, and our application there. */
export interface CustomOptions {
  authorizationUrl: string;
  tokenUrl: string;
  userinfoUrl: string;
  revocationUrl?: string;
  clientId: string;
  clientSecret: string;
  scopes?: readonly string[];
  extra: Readonly<Record<string, string>>;
}

/** A provider that is known by its endpoints. */
export function customProvider(
  options: CustomOptions,
  exchange: Exchange,
  now: () => number,
): Provider {
  const { clientId, clientSecret, scopes = [], extra } = options;
  const { revocationUrl, userinfoUrl } = options;
  const application: Application = {
    clientId,
    clientSecret,
    // The one that every server must speak, then the one that many do.
    authMethods: ["client_secret_basic", "client_secret_post"],
  };
  const grant = (parameters: Record<string, string>) =>
    requestTokens(exchange, options.tokenUrl, application, parameters, now());
  const authorization = {
    endpoint: options.authorizationUrl,
    clientId,
    scopes,
    extra,
  };

  return {
    name: new URL(options.authorizationUrl).host,
    apiUrl: new URL(userinfoUrl).origin,
    authorizationUrl: (request) =>
      Promise.resolve(buildAuthorizationUrl(authorization, request)),
    async redeem({ code, codeVerifier, redirectUri }) {
      const { tokens } = await grant({
        grant_type: "authorization_code",
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
      });
      const { accessToken } = tokens;
      const user = await requestUserinfo(exchange, userinfoUrl, accessToken);
      return { tokens, identity: parseIdentity(user) };
    },
    async refresh(refreshToken) {
      const { tokens } = await grant({
        grant_type: "refresh_token",
        refresh_token: refreshToken,
      });
      return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
    },
    revoke: revocationUrl === undefined
      ? undefined
      : (tokens) => revokeToken(exchange, revocationUrl, application, tokens),
  };
}
