/**
 * An OpenID provider. `oauth_client.ts` checks the `nonce` and the rest of an
 * `id_token`.
 * @see OpenID Connect Core 1.0
 * @module
 */
import type { JWTPayload } from "jose";
import type { Membership } from "../caller.ts";
import type { ExchangeKind } from "../settings/token_exchange.ts";
import { knownIdentity, type ProviderIdentity } from "../oauth/person.ts";
import {
  type AuthorizationRequestOptions,
  buildAuthorizationUrl,
} from "./authorization_url.ts";
import { metadataReader, type ProviderMetadata } from "./discovery.ts";
import { withSpentCode } from "./spent_code.ts";
import { misbehaved, type Provider } from "./provider.ts";
import {
  type AuthorizedFetch,
  authorizedFetches,
  isTokenAlive,
  requestUserinfo,
  type UpstreamFetch,
} from "./upstream_fetch.ts";
import {
  type ClaimNames,
  mergeClaims,
  missingMemberships,
  parseIdentity,
} from "./identity.ts";
import { oauthClient } from "./oauth_client.ts";

/** The options of an OpenID provider, with this server's OAuth client there. */
export interface OpenIdOptions {
  name: string;
  issuer: string;
  clientId: string;
  /** Undefined for a public client. */
  clientSecret?: string;
  /**
   * The scopes to request. By default those for the identity, and
   * `offline_access` if the provider supports it.
   */
  scopes?: readonly string[];
  /** Query parameters added to the authorization request. */
  extraAuthParams: Readonly<Record<string, string>>;
  /** The `prompt` that `scopes` requires. */
  prompt?: string;
  /**
   * The `prompt` that makes even a signed-in person sign in again; `login` by
   * default.
   */
  freshPrompt?: AuthorizationRequestOptions["freshPrompt"];
  apiUrl?: string;
  /**
   * True if the metadata of `issuer` may name the issuer `named`. By default
   * both must be the same.
   */
  isMetadataIssuer?(issuer: string, named: string): boolean;
  /**
   * True if tokens may have this `issuer`, given the metadata's issuer `named`.
   */
  isTokenIssuer?(named: string, issuer: string, tenant?: unknown): boolean;
  claims?: ClaimNames;
  memberships?: ReadonlySet<Membership>;
  named?: ReadonlySet<Membership>;
  /** Fetches groups that did not fit into the claims; undefined if all did. */
  readGroups?(
    claims: Readonly<Record<string, unknown>>,
    ask?: AuthorizedFetch,
  ): Promise<{ groups: readonly string[]; hasMore: boolean } | undefined>;
  /**
   * False to skip userinfo if it has no claims beyond those of the `id_token`.
   */
  userinfo?: boolean;
  /**
   * The kind of token exchange that the provider supports; undefined if none.
   */
  exchange?: ExchangeKind;
}

/** Makes an OpenID provider, without sending a request. */
export function openIdProvider(
  options: OpenIdOptions,
  fetchUpstream: UpstreamFetch,
): Provider {
  const { name, issuer, apiUrl, clientId, memberships = NOTHING } = options;
  const { freshPrompt = "login" } = options;
  const { isMetadataIssuer = isSame, isTokenIssuer = isSame, exchange: kind } =
    options;
  const discover = metadataReader(
    fetchUpstream,
    issuer,
    (named) => isMetadataIssuer(issuer, named),
  );
  const askAs = authorizedFetches(fetchUpstream);
  const client = oauthClient(fetchUpstream, options);

  /** Returns the userinfo endpoint; undefined if it is skipped or missing. */
  function userinfoOf(
    { userinfo_endpoint }: ProviderMetadata,
  ): string | undefined {
    return options.userinfo === false ? undefined : userinfo_endpoint;
  }

  /**
   * Adds the claims of userinfo to an `id_token`'s claims, if some are missing.
   */
  async function complete(
    metadata: ProviderMetadata,
    claims: JWTPayload,
    ask: AuthorizedFetch,
  ): Promise<Record<string, unknown>> {
    const { memberships: paths = {} } = options.claims ?? {};
    const isComplete = claims.email !== undefined &&
      claims.name !== undefined &&
      missingMemberships(claims, paths, memberships).length === 0;
    const endpoint = userinfoOf(metadata);
    if (isComplete || !endpoint) return claims;
    const info = await requestUserinfo(ask, endpoint);
    // OpenID Connect Core §5.3.2: another `sub` means another person.
    if (info.sub !== claims.sub) {
      throw misbehaved("sub of userinfo must be that of the id_token");
    }
    return mergeClaims(claims, info);
  }

  async function identityIn(
    claims: Record<string, unknown>,
    ask: AuthorizedFetch,
  ): Promise<ProviderIdentity> {
    const identity = parseIdentity(claims, options.claims);
    if (!memberships.has("groups")) return identity;
    const read = await options.readGroups?.(claims, ask);
    if (!read) return identity;
    const { groups, hasMore } = read;
    return { ...identity, groups, ...hasMore && { unknown: ["groups"] } };
  }

  /** Verifies an `id_token`. Returns the identity and the `auth_time`. */
  async function identify(
    metadata: ProviderMetadata,
    idToken: string | undefined,
    ask: AuthorizedFetch,
    nonce?: string,
  ): Promise<{ answer: ProviderIdentity; authenticatedAt?: number }> {
    const claims = await client.verify(metadata, idToken, {
      nonce,
      isIssuer: (issuer, tenant) =>
        isTokenIssuer(metadata.issuer, issuer, tenant),
    });
    const answer = await identityIn(await complete(metadata, claims, ask), ask);
    const { auth_time: time } = claims;
    return {
      answer,
      authenticatedAt: Number.isFinite(time) ? Number(time) : undefined,
    };
  }

  /**
   * Returns the metadata's issuer if `issuer` is acceptable for it. Otherwise
   * returns `issuer`, which a later check refuses.
   */
  function metadataIssuer(
    { issuer: own }: ProviderMetadata,
    issuer: string | undefined,
  ): string | undefined {
    return isTokenIssuer(own, issuer ?? "") ? own : issuer;
  }

  return {
    name,
    issuer,
    apiUrl,
    tellsTime: freshPrompt === "login",
    async authorizationUrl(request) {
      const metadata = await discover();
      return buildAuthorizationUrl({
        endpoint: metadata.authorization_endpoint,
        clientId,
        extra: options.extraAuthParams,
        hintName: "login_hint",
        freshPrompt,
        ...scopesToRequest(metadata, options),
      }, request);
    },
    async checkIssuer(issuer) {
      const metadata = await discover();
      await client.checkIssuer(metadata, metadataIssuer(metadata, issuer));
    },
    async redeem(response) {
      const metadata = await discover();
      const { tokens, idToken } = await client.redeem(metadata, {
        ...response,
        issuer: metadataIssuer(metadata, response.issuer),
      });
      const ask = askAs(tokens.accessToken);
      const { answer, authenticatedAt } = await withSpentCode(
        () => identify(metadata, idToken, ask, response.nonce),
        () => client.revoke(metadata, tokens),
      );
      return { tokens, identity: knownIdentity(answer), authenticatedAt };
    },
    async refresh(refreshToken) {
      const metadata = await discover();
      const { tokens, idToken } = await client.refresh(metadata, refreshToken);
      return { ...tokens, idToken };
    },
    exchange: kind &&
      (async (accessToken, target) =>
        await client.exchange(await discover(), { kind, accessToken, target })),
    async identify({ accessToken, idToken }) {
      const metadata = await discover();
      const ask = askAs(accessToken);
      if (idToken !== undefined) {
        return (await identify(metadata, idToken, ask)).answer;
      }
      // OpenID Connect Core §12.2: the response to a refresh may have no
      // `id_token`.
      const endpoint = userinfoOf(metadata);
      if (endpoint === undefined) return undefined;
      const claims = await requestUserinfo(ask, endpoint);
      // The sign-in's `id_token` may have had more claims than userinfo.
      const unknown = unknownIn(claims, options);
      const identity = await identityIn(claims, ask);
      return unknown.length > 0 ? { ...identity, unknown } : identity;
    },
    async isAlive(accessToken) {
      const endpoint = userinfoOf(await discover());
      if (endpoint === undefined) return undefined;
      return await isTokenAlive(askAs(accessToken), endpoint);
    },
    checkAnswers: discover,
    revoke: async (tokens) => await client.revoke(await discover(), tokens),
  };
}

const NOTHING: ReadonlySet<Membership> = new Set();

/** Compares issuers character by character, as the standards require. */
function isSame(a: string, b: string): boolean {
  return a === b;
}

function scopesToRequest(
  metadata: ProviderMetadata,
  { scopes, prompt, claims, named }: OpenIdOptions,
): Pick<AuthorizationRequestOptions, "scopes" | "prompt"> {
  if (scopes !== undefined) {
    // Without `openid` the provider would send no `id_token`.
    return { scopes: [...new Set(["openid", ...scopes])], prompt };
  }
  const usual = ["openid", "profile", "email"];
  // Many providers send groups only if this scope is requested.
  if (
    named?.has("groups") &&
    claims?.memberships?.groups?.includes("groups") &&
    metadata.scopes_supported.includes("groups")
  ) usual.push("groups");
  if (!metadata.scopes_supported.includes("offline_access")) {
    return { scopes: usual };
  }
  // OpenID Connect Core §11: `offline_access` is ignored without
  // `prompt=consent`.
  return { scopes: [...usual, "offline_access"], prompt: "consent" };
}

/** Lists the parts of an identity that these claims lack. */
function unknownIn(
  claims: Readonly<Record<string, unknown>>,
  { memberships = NOTHING, claims: names = {} }: OpenIdOptions,
): NonNullable<ProviderIdentity["unknown"]> {
  const kinds = missingMemberships(claims, names.memberships, memberships);
  return claims.email === undefined ? [...kinds, "email"] : kinds;
}
