/**
 * Any OpenID provider.
 *
 * @see OpenID Connect Core 1.0
 * @module
 */
import type { Identity } from "../caller.ts";
import {
  type AuthorizationRequestOptions,
  buildAuthorizationUrl,
} from "./authorization_url.ts";
import { discovery, type Metadata } from "./discovery.ts";
import { afterCode, UpstreamError } from "./upstream_error.ts";
import type { UpstreamFetch } from "./upstream_fetch.ts";
import { keySets, verifyIdToken } from "./id_token.ts";
import { type ClaimNames, parseIdentity } from "./identity.ts";
import { checkIssuer, EXACT_ISSUER, type IssuerRules } from "./issuer.ts";
import type { Provider } from "./provider.ts";
import {
  type Application,
  revokeToken,
  type TokenEndpoint,
  tokenEndpoint,
} from "./token_endpoint.ts";
import { isTokenAlive, requestUserinfo } from "./userinfo.ts";

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

/** An OpenID provider; nothing is fetched yet. */
export function openIdProvider(
  options: OpenIdOptions,
  fetchUpstream: UpstreamFetch,
): Provider {
  const { name, issuer, apiUrl, issuers = EXACT_ISSUER } = options;
  const { clientId, clientSecret } = options;
  const discover = discovery(
    fetchUpstream,
    issuer,
    (named) => issuers.isNamed(issuer, named),
  );
  const keysOf = keySets(fetchUpstream);

  function application({ authMethods }: Metadata): Application {
    return { clientId, clientSecret, authMethods };
  }

  function tokensOf(metadata: Metadata): TokenEndpoint {
    return tokenEndpoint(
      fetchUpstream,
      metadata.tokenEndpoint,
      application(metadata),
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
    const info = await requestUserinfo(
      fetchUpstream,
      userinfoEndpoint,
      accessToken,
    );
    // OpenID Connect §5.3.2: anything else is about another person.
    if (info.sub !== claims.sub) {
      throw new UpstreamError(
        "misbehaved",
        "The provider's userinfo is about somebody else",
      );
    }
    return parseIdentity(mergeClaims(claims, info), options.claims);
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
      checkIssuer(response.issuer, {
        required: metadata.sendsIssuer,
        isOurs: (issuer) => issuers.isFrom(metadata.issuer, issuer),
      });
      const { tokens, idToken } = await tokensOf(metadata).redeem(response);
      const identity = await afterCode(() =>
        identify(metadata, idToken, tokens.accessToken, response.nonce)
      );
      return { tokens, identity };
    },
    async refresh(refreshToken) {
      return await tokensOf(await discover()).refresh(refreshToken);
    },
    async isAlive(accessToken) {
      const { userinfoEndpoint } = await discover();
      if (!userinfoEndpoint || options.userinfo === false) return undefined;
      return await isTokenAlive(fetchUpstream, userinfoEndpoint, accessToken);
    },
    async revoke(tokens) {
      const metadata = await discover();
      const { revocationEndpoint: url } = metadata;
      if (url === undefined) return;
      await revokeToken(fetchUpstream, url, application(metadata), tokens);
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

/** An address keeps the word on whether it is verified that came with it. */
function mergeClaims(
  claims: Record<string, unknown>,
  info: Record<string, unknown>,
): Record<string, unknown> {
  const { email_verified } = info.email === undefined ? claims : info;
  return { ...claims, ...info, email_verified };
}
