/**
 * Any OpenID provider.
 *
 * @see OpenID Connect Core 1.0
 * @module
 */
import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from "jose";
import type { Identity } from "../caller.ts";
import {
  type AuthorizationRequestOptions,
  buildAuthorizationUrl,
} from "./authorization_url.ts";
import { discovery, type Metadata } from "./discovery.ts";
import { UpstreamError } from "./error.ts";
import { type Exchange, readObject } from "./exchange.ts";
import { verifyIdToken } from "./id_token.ts";
import { type ClaimNames, parseIdentity } from "./identity.ts";
import type { Provider, UpstreamResponse } from "./provider.ts";
import { requestTokens, revokeToken } from "./token_endpoint.ts";

/** An OpenID provider, and our application there. */
export interface OpenIdOptions {
  name: string;
  issuer: string;
  clientId: string;
  /** Undefined: a public client. */
  clientSecret?: string;
  /** Undefined: who it is, and a refresh token where one can be had. */
  scopes?: readonly string[];
  /** Query parameters added to the authorization request. */
  extra: Readonly<Record<string, string>>;
  apiUrl?: string;
  /** Issuers where they are not plainly the configured one. */
  issuers?: IssuerRules;
  claims?: ClaimNames;
  /** False where `userinfo` tells nothing beyond the `id_token`. */
  userinfo?: boolean;
}

/** How a provider's own way of naming issuers is checked. */
export interface IssuerRules {
  /** Whether metadata found under the configured issuer may name this one. */
  isNamed(configured: string, named: string): boolean;
  /** Whether tokens and answers of the metadata's issuer may carry this one. */
  isFrom(named: string, issuer: string, tenant?: unknown): boolean;
}

const EXACT: IssuerRules = {
  isNamed: (configured, named) => configured === named,
  isFrom: (named, issuer) => named === issuer,
};

/** An OpenID provider; nothing is fetched yet. */
export function openIdProvider(
  options: OpenIdOptions,
  exchange: Exchange,
  now: () => number,
): Provider {
  const { name, issuer, apiUrl, issuers = EXACT } = options;
  const { clientId, clientSecret } = options;
  const discover = discovery(
    exchange,
    issuer,
    (named) => issuers.isNamed(issuer, named),
  );
  const keysOf = keySets(exchange);

  function grant(metadata: Metadata, parameters: Record<string, string>) {
    const { tokenEndpoint, authMethods } = metadata;
    const application = { clientId, clientSecret, authMethods };
    return requestTokens(
      exchange,
      tokenEndpoint,
      application,
      parameters,
      now(),
    );
  }

  async function identify(
    metadata: Metadata,
    idToken: string | undefined,
    accessToken: string,
    nonce: string,
  ): Promise<Identity> {
    if (idToken === undefined) {
      throw new UpstreamError("misbehaved", "The provider sent no id_token");
    }
    const claims = await verifyIdToken(idToken, {
      keys: keysOf(metadata.jwksUri),
      algorithms: metadata.algorithms,
      clientId,
      nonce,
      isIssuer: (issuer, { tid = "" }) =>
        issuers.isFrom(metadata.issuer, issuer, tid),
    });
    const { userinfoEndpoint } = metadata;
    const complete = claims.email !== undefined && claims.name !== undefined;
    if (complete || !userinfoEndpoint || options.userinfo === false) {
      return parseIdentity(claims, options.claims);
    }
    const info = await requestUserinfo(exchange, userinfoEndpoint, accessToken);
    // OpenID Connect §5.3.2: anything else is about another person.
    if (info.sub !== claims.sub) {
      throw new UpstreamError(
        "misbehaved",
        "The provider's userinfo is about somebody else",
      );
    }
    return parseIdentity({ ...claims, ...info }, options.claims);
  }

  return {
    name,
    apiUrl,
    async authorizationUrl(request) {
      const metadata = await discover();
      return buildAuthorizationUrl({
        endpoint: metadata.authorizationEndpoint,
        clientId,
        ...askFor(metadata, options),
      }, request);
    },
    async redeem(response) {
      const metadata = await discover();
      checkIssuer(metadata, response, issuers);
      const { code, codeVerifier, redirectUri, nonce } = response;
      const { tokens, idToken } = await grant(metadata, {
        grant_type: "authorization_code",
        code,
        code_verifier: codeVerifier,
        redirect_uri: redirectUri,
      });
      const { accessToken } = tokens;
      const identity = await identify(metadata, idToken, accessToken, nonce);
      return { tokens, identity };
    },
    async refresh(refreshToken) {
      const { tokens } = await grant(await discover(), {
        grant_type: "refresh_token",
        refresh_token: refreshToken,
      });
      return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
    },
    async revoke(tokens) {
      const { revocationEndpoint, authMethods } = await discover();
      if (revocationEndpoint === undefined) return;
      const application = { clientId, clientSecret, authMethods };
      await revokeToken(exchange, revocationEndpoint, application, tokens);
    },
  };
}

/** What is asked of the provider. */
function askFor(
  metadata: Metadata,
  { scopes, extra }: OpenIdOptions,
): Pick<AuthorizationRequestOptions, "scopes" | "extra"> {
  if (scopes !== undefined) {
    // Without this one it would be plain OAuth, and nobody would be named.
    return { scopes: [...new Set(["openid", ...scopes])], extra };
  }
  const usual = ["openid", "profile", "email"];
  if (!metadata.scopes.includes("offline_access")) {
    return { scopes: usual, extra };
  }
  // OpenID Connect §11: ignored unless consent is asked for.
  return {
    scopes: [...usual, "offline_access"],
    extra: { prompt: "consent", ...extra },
  };
}

/**
 * Checks the `iss` of an authorization response.
 *
 * @see RFC 9207 §2.4
 */
function checkIssuer(
  metadata: Metadata,
  { issuer }: UpstreamResponse,
  { isFrom }: IssuerRules,
): void {
  const wrong = issuer === undefined
    ? metadata.sendsIssuer
    : !isFrom(metadata.issuer, issuer);
  if (wrong) {
    throw new UpstreamError(
      "misbehaved",
      "The answer did not come from the provider: iss",
    );
  }
}

/** What a provider says of the owner of an access token. */
export async function requestUserinfo(
  exchange: Exchange,
  endpoint: string,
  accessToken: string,
): Promise<Record<string, unknown>> {
  const { host } = new URL(endpoint);
  const response = await exchange(endpoint, {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  if (!response.ok) {
    throw new UpstreamError(
      "misbehaved",
      `${host} answered ${response.status} when asked who it was`,
    );
  }
  return await readObject(response, host);
}

/** The key set of the newest metadata; jose caches what is in it. */
function keySets(exchange: Exchange): (uri: string) => JWTVerifyGetKey {
  let known: { uri: string; keys: JWTVerifyGetKey } | undefined;
  return function keysOf(uri) {
    if (known?.uri !== uri) {
      known = {
        uri,
        keys: createRemoteJWKSet(new URL(uri), { [customFetch]: exchange }),
      };
    }
    return known.keys;
  };
}
