/**
 * This server as an OAuth client of the services at which people have accounts.
 * Responses are checked for the expected `iss` (RFC 9207).
 *
 * @see RFC 6749, RFC 7009, RFC 7636, RFC 9207
 * @module
 */
import { sendOnce } from "../../core/net/send_once.ts";
import type { OAuthAccount } from "../../authoring/account.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { buildAuthorizationUrl } from "../../core/provider/authorization_url.ts";
import { type AccountApplication, quirksOf } from "./account_quirks.ts";
import {
  metadataReader,
  OAUTH_ENDPOINTS,
  type ProviderMetadata,
} from "../../core/provider/discovery.ts";
import {
  type IssuerMetadata,
  oauthClient,
} from "../../core/provider/oauth_client.ts";
import {
  misbehaved,
  UpstreamError,
  type UpstreamRequest,
  type UpstreamResponse,
  type UpstreamTokens,
} from "../../core/provider/provider.ts";
import { isTokenTooLong } from "../../core/provider/token_answer.ts";
import {
  authorizedFetches,
  requestUserinfo,
  type UpstreamFetch,
  upstreamFetch,
} from "../../core/provider/upstream_fetch.ts";

/**
 * The tokens that a code was redeemed for. The caller revokes them if a later
 * step fails.
 */
export interface RedeemedAccount {
  tokens: UpstreamTokens;
  /** Verifies the `id_token`, and finds the account's ID and name, if known. */
  findAccount(): Promise<{ id?: string; label?: string }>;
}

/** An authorization server, and the endpoint to which a person is sent. */
export interface SignInServer {
  issuer: string;
  authorizationEndpoint?: string;
  /** The fingerprint of our client ID there. */
  client?: string;
  /** The scopes to request in addition to the author's. */
  wider?: readonly string[];
  /** True if `wider` is not requested, because it was refused before. */
  isNarrow?: boolean;
}

/** A way to an authorization server, for which we need a client there. */
export interface Departing {
  redirectUri: string;
  wider: readonly string[];
}

/**
 * The authorization server at which the person signs in. Only for services that
 * may change their authorization server.
 */
export interface SignInAt {
  at?: SignInServer;
}

/**
 * An OAuth client of one service. Every method throws {@linkcode
 * UpstreamError}.
 */
export interface AccountClient {
  /**
   * The ID of our client registration. Tokens of another registration are not
   * used.
   */
  readonly id: string;
  /**
   * True if {@linkcode revoke} can end these tokens at the service that issued
   * them. They are needed only if the service has `findServer`.
   */
  canRevoke(tokens?: UpstreamTokens): Promise<boolean>;
  /**
   * Finds the current authorization server, and our client there if a person
   * departs. For services that may change them.
   */
  findServer?(departing?: Departing): Promise<SignInServer>;
  authorizationUrl(request: UpstreamRequest & SignInAt): Promise<URL>;
  /** Checks the `iss` of an authorization response, if the issuer is known. */
  checkIssuer(issuer: string | undefined, at?: SignInServer): Promise<void>;
  redeem(response: UpstreamResponse & SignInAt): Promise<RedeemedAccount>;
  refresh(
    refreshToken: string,
    tokens: UpstreamTokens,
  ): Promise<UpstreamTokens>;
  revoke(tokens: UpstreamTokens): Promise<void>;
}

/** Finds the account's name in OpenID claims. */
export function nameInClaims(
  { preferred_username, email, name }: Record<string, unknown>,
): string | undefined {
  return [preferred_username, email, name]
    .find((it): it is string => typeof it === "string" && it !== "");
}

/**
 * Returns refreshed tokens, if they fit into a record. Otherwise revokes them.
 *
 * @throws {UpstreamError} if they are too long for a record
 */
export async function checkStorable<T extends UpstreamTokens>(
  tokens: T,
  { refreshToken, name, client }: {
    refreshToken: string;
    name: string;
    client: Pick<AccountClient, "revoke">;
  },
): Promise<T> {
  if (!isTokenTooLong(JSON.stringify(tokens))) return tokens;
  // If the refresh token is still the old one, its revocation would disconnect
  // the account.
  if (tokens.refreshToken !== refreshToken) {
    await client.revoke(tokens).catch(() => {});
  }
  throw misbehaved(`${name} gave a token that is too long`);
}

/**
 * Scopes that are requested besides the author's, if the metadata of the
 * service's issuer lists them.
 */
export const USUAL_SCOPES = ["openid", "email", "offline_access"];

/** Makes the OAuth client of a service, without a request. */
export function accountClient(
  service: OAuthAccount,
  application: AccountApplication,
  send: typeof fetch = sendOnce,
): AccountClient {
  const { issuer, api, scopes = [], params = {}, name } = service;
  const { clientId } = application;
  const quirks = quirksOf(service);
  const fetchUpstream: UpstreamFetch = quirks.fetch(upstreamFetch(send));
  const client = oauthClient(fetchUpstream, application);
  const discover = issuer === undefined ? undefined : metadataReader(
    fetchUpstream,
    issuer,
    quirks.isMetadataIssuer,
    OAUTH_ENDPOINTS,
  );
  const isTokenIssuer = quirks.isTokenIssuer ?? ((named, it) => named === it);

  const findServer = async (): Promise<
    IssuerMetadata & Partial<ProviderMetadata>
  > =>
    await discover?.() ?? {
      issuer: quirks.issuer ?? new URL(service.authorize!).origin,
      authorization_endpoint: service.authorize,
      token_endpoint: service.token!,
      revocation_endpoint: service.revoke,
      token_endpoint_auth_methods_supported: quirks.methods ?? [
        "client_secret_basic",
        "client_secret_post",
      ],
    };

  /**
   * Returns the `iss` to check. Undefined if the service's issuer is unknown.
   */
  function checkable(
    server: IssuerMetadata,
    answered: string | undefined,
  ): string | undefined {
    if (!discover && !quirks.issuer) return undefined;
    return isTokenIssuer(server.issuer, answered ?? "")
      ? server.issuer
      : answered;
  }

  /** Reads the claims of the userinfo endpoint; empty if it does not answer. */
  async function userinfo(
    { userinfo_endpoint: endpoint }: Partial<ProviderMetadata>,
    { accessToken }: UpstreamTokens,
  ): Promise<Record<string, unknown>> {
    if (endpoint === undefined) return {};
    const ask = authorizedFetches(fetchUpstream)(accessToken);
    return await requestUserinfo(ask, endpoint).catch((error) => {
      if (error instanceof UpstreamError) return {};
      throw error;
    });
  }

  function scopesAt(
    { scopes_supported = [] }: Partial<ProviderMetadata>,
  ): string[] {
    const usual = USUAL_SCOPES.filter((it) => scopes_supported.includes(it));
    return [...new Set([...scopes, ...usual])];
  }

  return {
    id: fingerprint(
      JSON.stringify([name, clientId, issuer, service.token, api]),
    ),

    async canRevoke() {
      if (quirks.cannotRevoke || quirks.revoke) return !quirks.cannotRevoke;
      return (await findServer()).revocation_endpoint !== undefined;
    },

    async authorizationUrl(request) {
      const server = await findServer();
      const asked = scopesAt(server);
      const isOffline = discover && asked.includes("offline_access") &&
        !scopes.includes("offline_access");
      return buildAuthorizationUrl({
        endpoint: server.authorization_endpoint!,
        clientId,
        scopes: asked,
        separator: quirks.separator,
        extra: params,
        // Without `prompt=consent`, `offline_access` is ignored (OpenID Connect
        // §11).
        prompt: isOffline ? "consent" : undefined,
      }, request);
    },

    async checkIssuer(answered) {
      const server = await findServer();
      await client.checkIssuer(server, checkable(server, answered));
    },

    async redeem(response) {
      const server = await findServer();
      const { tokens, idToken } = await client.redeem(server, {
        ...response,
        issuer: checkable(server, response.issuer),
      });
      return {
        tokens,
        async findAccount() {
          // Without metadata there are no keys to verify an ID token with.
          if (idToken === undefined || !discover) return {};
          const claims = await client.verify(server, idToken, {
            nonce: response.nonce,
            isIssuer: (issuer, tenant) =>
              isTokenIssuer(server.issuer, issuer, tenant),
          });
          const label = nameInClaims(claims) ??
            nameInClaims(await userinfo(server, tokens)) ?? claims.sub;
          return { id: claims.sub, label };
        },
      };
    },

    async refresh(refreshToken) {
      const { tokens } = await client.refresh(await findServer(), refreshToken);
      return await checkStorable(tokens, { refreshToken, name, client: this });
    },

    async revoke(tokens) {
      if (quirks.revoke) {
        return await quirks.revoke(fetchUpstream, application, tokens);
      }
      const { refreshToken } = tokens;
      await client.revoke(await findServer(), {
        ...tokens,
        refreshToken: quirks.revokesAccessToken ? undefined : refreshToken,
      });
    },
  };
}
