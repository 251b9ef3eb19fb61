/**
 * A plain OAuth 2 provider, known by its endpoints only.
 *
 * @see RFC 6749
 * @module
 */
import { buildAuthorizationUrl } from "./authorization_url.ts";
import { afterCode } from "./upstream_error.ts";
import { knock, type UpstreamFetch } from "./upstream_fetch.ts";
import type { MembershipClaims } from "./memberships.ts";
import { parseIdentity } from "./identity.ts";
import type { Provider } from "./provider.ts";
import {
  type Application,
  revokeToken,
  tokenEndpoint,
} from "./token_endpoint.ts";
import { isTokenAlive, requestUserinfo } from "./userinfo.ts";

/** A provider's endpoints, and our application there. */
export interface CustomOptions {
  /** The name for people; the provider's host by default. */
  name?: string;
  authorizationUrl: string;
  tokenUrl: string;
  userinfoUrl: string;
  revocationUrl?: string;
  clientId: string;
  clientSecret: string;
  scopes?: readonly string[];
  extra: Readonly<Record<string, string>>;
  /** The members of the user object that hold memberships. */
  memberships?: MembershipClaims;
}

/** Makes a provider from its endpoints. */
export function customProvider(
  options: CustomOptions,
  fetchUpstream: UpstreamFetch,
): Provider {
  const { clientId, clientSecret, scopes = [], extra } = options;
  const { revocationUrl, userinfoUrl } = options;
  const application: Application = {
    clientId,
    clientSecret,
    // The method that every server must support, then the one that many do.
    authMethods: ["client_secret_basic", "client_secret_post"],
  };
  const claims = { memberships: options.memberships };
  const { redeem, refresh } = tokenEndpoint(
    fetchUpstream,
    options.tokenUrl,
    application,
  );
  const authorization = {
    endpoint: options.authorizationUrl,
    clientId,
    scopes,
    extra,
  };

  return {
    name: options.name ?? new URL(options.authorizationUrl).host,
    apiUrl: new URL(userinfoUrl).origin,
    authorizationUrl: (request) =>
      Promise.resolve(buildAuthorizationUrl(authorization, request)),
    async redeem(response) {
      const { tokens } = await redeem(response);
      const { accessToken } = tokens;
      const user = await afterCode(() =>
        requestUserinfo(fetchUpstream, userinfoUrl, accessToken)
      );
      return { tokens, identity: parseIdentity(user, claims) };
    },
    refresh: async (refreshToken) => (await refresh(refreshToken)).tokens,
    async identify({ accessToken }) {
      const user = await requestUserinfo(
        fetchUpstream,
        userinfoUrl,
        accessToken,
      );
      return parseIdentity(user, claims);
    },
    isAlive: (accessToken) =>
      isTokenAlive(fetchUpstream, userinfoUrl, accessToken),
    look: () => knock(fetchUpstream, options.tokenUrl),
    revoke: revocationUrl === undefined
      ? undefined
      : (tokens) =>
        revokeToken(fetchUpstream, revocationUrl, application, tokens),
  };
}
