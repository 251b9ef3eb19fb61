/**
 * Any OpenID provider.
 *
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
import { discovery, type Metadata } from "./discovery.ts";
import { withSpentCode } from "./spent_code.ts";
import { misbehaved, type Provider } from "./provider.ts";
import {
  type Ask,
  asking,
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

/** An OpenID provider, and our application there. */
export interface OpenIdOptions {
  name: string;
  issuer: string;
  clientId: string;
  /** Undefined for a public client. */
  clientSecret?: string;
  /** By default the identity, and a refresh token if the provider has them. */
  scopes?: readonly string[];
  /** Query parameters added to the authorization request. */
  extraAuthParams: Readonly<Record<string, string>>;
  /** The `prompt` that these scopes need. */
  prompt?: string;
  /** The `prompt` that asks even a signed-in person; `login` by default. */
  freshPrompt?: AuthorizationRequestOptions["freshPrompt"];
  apiUrl?: string;
  /** True if `issuer`'s metadata may name `named`; by default only `issuer`. */
  isMetadataIssuer?(issuer: string, named: string): boolean;
  /** True if tokens may name `issuer` where the metadata names `named`. */
  isTokenIssuer?(named: string, issuer: string, tenant?: unknown): boolean;
  claims?: ClaimNames;
  memberships?: ReadonlySet<Membership>;
  named?: ReadonlySet<Membership>;
  /** Reads groups that did not fit into the claims. */
  readGroups?(
    claims: Readonly<Record<string, unknown>>,
    ask?: Ask,
  ): Promise<{ groups: readonly string[]; hasMore: boolean } | undefined>;
  /** False if `userinfo` has no more claims than the `id_token`. */
  userinfo?: boolean;
  /** Its way to exchange tokens, if it has one. */
  exchange?: ExchangeKind;
}

/** Makes an OpenID provider; nothing is fetched yet. */
export function openIdProvider(
  options: OpenIdOptions,
  fetchUpstream: UpstreamFetch,
): Provider {
  const { name, issuer, apiUrl, clientId, memberships = NOTHING } = options;
  const { freshPrompt = "login" } = options;
  const { isMetadataIssuer = isSame, isTokenIssuer = isSame, exchange: kind } =
    options;
  const discover = discovery(
    fetchUpstream,
    issuer,
    (named) => isMetadataIssuer(issuer, named),
  );
  const askAs = asking(fetchUpstream);
  const client = oauthClient(fetchUpstream, options);

  /** Finds the endpoint of `userinfo`, unless it says nothing new. */
  function userinfoOf({ userinfo_endpoint }: Metadata): string | undefined {
    return options.userinfo === false ? undefined : userinfo_endpoint;
  }

  /** Adds the claims of `userinfo` to those of an `id_token`. */
  async function complete(
    metadata: Metadata,
    claims: JWTPayload,
    ask: Ask,
  ): Promise<Record<string, unknown>> {
    const { memberships: paths = {} } = options.claims ?? {};
    const isComplete = claims.email !== undefined &&
      claims.name !== undefined &&
      missingMemberships(claims, paths, memberships).length === 0;
    const endpoint = userinfoOf(metadata);
    if (isComplete || !endpoint) return claims;
    const info = await requestUserinfo(ask, endpoint);
    // OpenID Connect §5.3.2: another `sub` means another person.
    if (info.sub !== claims.sub) {
      throw misbehaved("sub of userinfo must be that of the id_token");
    }
    return mergeClaims(claims, info);
  }

  async function identityIn(
    claims: Record<string, unknown>,
    ask: Ask,
  ): Promise<ProviderIdentity> {
    const identity = parseIdentity(claims, options.claims);
    if (!memberships.has("groups")) return identity;
    const read = await options.readGroups?.(claims, ask);
    if (!read) return identity;
    const { groups, hasMore } = read;
    return { ...identity, groups, ...hasMore && { unknown: ["groups"] } };
  }

  /** Verifies an `id_token`, and gives its person and their last `auth_time`. */
  async function identify(
    metadata: Metadata,
    idToken: string | undefined,
    ask: Ask,
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

  /** Returns the metadata's issuer for any issuer that the provider may use. */
  function metadataIssuer(
    { issuer: own }: Metadata,
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
      // A refresh need not be answered with an id_token (OpenID Core §12.2).
      const endpoint = userinfoOf(metadata);
      if (endpoint === undefined) return undefined;
      const claims = await requestUserinfo(ask, endpoint);
      // The id_token of the sign-in may have had more claims than userinfo.
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

/** Compares issuers by the rule of the standards: letter by letter. */
function isSame(a: string, b: string): boolean {
  return a === b;
}

function scopesToRequest(
  metadata: Metadata,
  { scopes, prompt, claims, named }: OpenIdOptions,
): Pick<AuthorizationRequestOptions, "scopes" | "prompt"> {
  if (scopes !== undefined) {
    // Without `openid` it is plain OAuth, without an identity.
    return { scopes: [...new Set(["openid", ...scopes])], prompt };
  }
  const usual = ["openid", "profile", "email"];
  // Many providers give groups only if this scope is requested.
  if (
    named?.has("groups") &&
    claims?.memberships?.groups?.includes("groups") &&
    metadata.scopes_supported.includes("groups")
  ) usual.push("groups");
  if (!metadata.scopes_supported.includes("offline_access")) {
    return { scopes: usual };
  }
  // OpenID Connect §11: offline_access is ignored without prompt=consent.
  return { scopes: [...usual, "offline_access"], prompt: "consent" };
}

/** Lists the parts of an identity that these claims do not have. */
function unknownIn(
  claims: Readonly<Record<string, unknown>>,
  { memberships = NOTHING, claims: names = {} }: OpenIdOptions,
): NonNullable<ProviderIdentity["unknown"]> {
  const kinds = missingMemberships(claims, names.memberships, memberships);
  return claims.email === undefined ? [...kinds, "email"] : kinds;
}
