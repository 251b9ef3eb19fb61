/**
 * An OAuth 2 provider without discovery: the settings have its endpoints.
 *
 * @see RFC 6749
 * @module
 */
import type { ProviderConfig } from "../settings/application.ts";
import { buildAuthorizationUrl } from "./authorization_url.ts";
import { withSpentCode } from "./spent_code.ts";
import type { Provider, UpstreamTokens } from "./provider.ts";
import {
  authorizedFetches,
  checkAnswers,
  isTokenAlive,
  requestUserinfo,
  type UpstreamFetch,
} from "./upstream_fetch.ts";
import { parseIdentity, usualMembershipClaims } from "./identity.ts";
import { type IssuerMetadata, oauthClient } from "./oauth_client.ts";

export function customProvider(
  options: Omit<ProviderConfig & { provider: "custom" }, "provider">,
  fetchUpstream: UpstreamFetch,
): Provider {
  const { clientId, scopes = [], revocationUrl, userinfoUrl } = options;
  const server: IssuerMetadata = {
    issuer: new URL(options.authorizationUrl).origin,
    token_endpoint: options.tokenUrl,
    revocation_endpoint: revocationUrl,
    // `client_secret_basic`, which every server must support, then the other
    // common one.
    token_endpoint_auth_methods_supported: [
      "client_secret_basic",
      "client_secret_post",
    ],
  };
  const client = oauthClient(fetchUpstream, options);
  const ask = authorizedFetches(fetchUpstream);
  const identify = async (
    { accessToken }: Pick<UpstreamTokens, "accessToken">,
  ) =>
    parseIdentity(await requestUserinfo(ask(accessToken), userinfoUrl), {
      memberships: usualMembershipClaims(options),
    });
  const authorization = {
    endpoint: options.authorizationUrl,
    clientId,
    scopes,
    extra: options.extraAuthParams,
  };

  return {
    name: options.name ?? new URL(options.authorizationUrl).host,
    apiUrl: new URL(userinfoUrl).origin,
    authorizationUrl: (request) =>
      Promise.resolve(buildAuthorizationUrl(authorization, request)),
    async redeem(response) {
      const { tokens } = await client.redeem(server, {
        ...response,
        // The issuer of a custom provider is not known.
        issuer: undefined,
      });
      const identity = await withSpentCode(
        () => identify(tokens),
        () => client.revoke(server, tokens),
      );
      return { tokens, identity };
    },
    refresh: async (refreshToken) =>
      (await client.refresh(server, refreshToken)).tokens,
    exchange: (accessToken, target) =>
      client.exchange(server, { kind: "token-exchange", accessToken, target }),
    identify,
    isAlive: (accessToken) => isTokenAlive(ask(accessToken), userinfoUrl),
    checkAnswers: () => checkAnswers(fetchUpstream, options.tokenUrl),
    revoke: revocationUrl === undefined
      ? undefined
      : (tokens) => client.revoke(server, tokens),
  };
}
