/**
 * The authorization server's endpoints and its gate, wired together. Under
 * another strategy the routes exist too, and say that there is nothing.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { AuthConfig, OAuthConfig } from "../auth_config.ts";
import { HttpError } from "../errors.ts";
import { type Logger, logger } from "../log.ts";
import { isListed } from "../oauth/allowed_users.ts";
import { type Grant, isGrantOf } from "../oauth/grant.ts";
import { resourceOf } from "../oauth/resource.ts";
import type { ScopeInWords } from "../pages/consent.tsx";
import { accessTokenStore } from "../store/access_tokens.ts";
import { approvalStore } from "../store/approvals.ts";
import { authorizationRequestStore } from "../store/authorization_requests.ts";
import { clientStore } from "../store/clients.ts";
import { documentStore, type FetchDocument } from "../store/documents.ts";
import { grantStore } from "../store/grants.ts";
import { refreshTokenStore } from "../store/refresh_tokens.ts";
import { upstreamTokenStore } from "../store/upstream_tokens.ts";
import { connections } from "../upstream/connection.ts";
import type { Provider } from "../upstream/provider.ts";
import { authorizeEndpoint } from "./authorize.ts";
import { clientDirectory } from "./clients.ts";
import { consentEndpoint } from "./consent.ts";
import type { Gate } from "./gate.ts";
import {
  authorizationServerMetadataEndpoint,
  protectedResourceMetadataEndpoint,
} from "./metadata.ts";
import { oauthGate } from "./oauth_gate.ts";
import { providerCallbackEndpoint } from "./provider_callback.ts";
import { rateLimit } from "./rate_limit.ts";
import { registerEndpoint } from "./register.ts";
import { revokeEndpoint } from "./revoke.ts";
import { tokenEndpoint } from "./token.ts";

type Endpoint = (c: Context) => Response | Promise<Response>;

/** What a client meets on its way to a token, in that order. */
export interface AuthorizationServerEndpoints {
  protectedResourceMetadata: Endpoint;
  authorizationServerMetadata: Endpoint;
  register: Endpoint;
  authorize: Endpoint;
  consent: Endpoint;
  providerCallback: Endpoint;
  token: Endpoint;
  revoke: Endpoint;
}

/** What an authorization server is made of. */
export interface AuthorizationServerOptions {
  config: OAuthConfig;
  kv: Deno.Kv;
  baseUrl: string;
  serverTitle: string;
  provider: Provider;
  fetchDocument: FetchDocument;
  scopesSupported: readonly string[];
  inWords(scopes: readonly string[]): ScopeInWords[];
}

/** The authorization server of `AUTH_STRATEGY=oauth`. */
export function authorizationServer(
  options: AuthorizationServerOptions,
): { endpoints: AuthorizationServerEndpoints; gate: Gate } {
  const { config, kv, baseUrl, provider, serverTitle, scopesSupported } =
    options;
  const { metadataDocuments, allowedUsers } = config;
  const grants = grantStore(kv);
  const registrations = clientStore(kv);
  const documents = documentStore(kv, options.fetchDocument);
  const upstreamTokens = upstreamTokenStore(kv);
  const services = {
    ...options,
    log: logger("oauth"),
    providerName: provider.name,
    providerId: config.provider.provider,
    allowedUsers,
    clients: clientDirectory({
      kv,
      baseUrl,
      registrations,
      documents,
      metadataDocuments,
    }),
    registrations,
    approvals: approvalStore(kv),
    requests: authorizationRequestStore(kv),
    grants,
    accessTokens: accessTokenStore(kv),
    refreshTokens: refreshTokenStore(kv),
    connections: connections({ provider, grants, upstreamTokens }),
    mayStay(grant: Grant): boolean {
      const here = { issuer: baseUrl, resource: resourceOf(baseUrl) };
      return isGrantOf(grant, here) &&
        // Somebody may have been taken off the list since.
        (allowedUsers.length === 0 || isListed(grant.identity, allowedUsers));
    },
  };
  const limited = (endpoint: string) => ({
    ...services,
    checkRate: rateLimit(kv, endpoint),
  });
  return {
    endpoints: {
      protectedResourceMetadata: protectedResourceMetadataEndpoint({
        baseUrl,
        issuer: baseUrl,
        scopesSupported,
        title: serverTitle,
      }),
      authorizationServerMetadata: authorizationServerMetadataEndpoint({
        baseUrl,
        scopesSupported,
        metadataDocuments: metadataDocuments.enabled,
      }),
      register: registerEndpoint(limited("register")),
      authorize: authorizeEndpoint(limited("authorize")),
      consent: consentEndpoint(limited("authorize")),
      providerCallback: providerCallbackEndpoint(services),
      token: tokenEndpoint(limited("token")),
      revoke: revokeEndpoint(limited("token")),
    },
    gate: oauthGate(services),
  };
}

/** The same routes where nobody signs in at this server. */
export function noAuthorizationServer(
  { auth, baseUrl, serverTitle, log }: {
    auth: Exclude<AuthConfig, OAuthConfig>;
    baseUrl: string;
    serverTitle: string;
    log: Logger;
  },
): AuthorizationServerEndpoints {
  function refuse(status: number): Endpoint {
    return (c) => {
      log.warning("Nobody can sign in here", {
        path: c.req.path,
        strategy: auth.strategy,
        missing:
          "AUTH_STRATEGY=oauth, OAUTH_PROVIDER, OAUTH_CLIENT_ID, OAUTH_CLIENT_SECRET",
      });
      throw new HttpError(status, "Nobody can sign in at this server");
    };
  }
  // Clients take a 404 for "no sign-in needed" and a 5xx for trouble.
  const noMetadata = refuse(404);
  const notImplemented = refuse(501);
  return {
    protectedResourceMetadata: auth.strategy === "jwt"
      ? protectedResourceMetadataEndpoint({
        baseUrl,
        issuer: auth.issuer,
        scopesSupported: [],
        title: serverTitle,
      })
      : noMetadata,
    authorizationServerMetadata: noMetadata,
    register: notImplemented,
    authorize: notImplemented,
    consent: notImplemented,
    providerCallback: notImplemented,
    token: notImplemented,
    revoke: notImplemented,
  };
}
