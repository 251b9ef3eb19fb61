/**
 * Authentication for `AUTH_STRATEGY=oauth`: access tokens that this server
 * issued.
 *
 * @module
 */
import type { Scopes } from "../../../authoring/scope.ts";
import type { Authenticated } from "../../caller.ts";
import { type Clock, now } from "../../clock.ts";
import { ChallengeError, HttpError } from "../../errors.ts";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import type { GrantStore } from "../../store/grants.ts";
import { recentReads } from "../../cache.ts";
import type { ProviderTokens } from "../../provider/provider_tokens.ts";
import { parseCredential } from "../../oauth/credential.ts";
import {
  callerOf,
  type EffectiveScopes,
  type FindEffectiveScopes,
  type Grant,
  tokenExpiry,
  withinLifetimes,
} from "../../oauth/grant.ts";
import type { Lifetimes } from "../../oauth/lifetimes.ts";
import {
  resourceMetadataUrl,
  serverMetadataUrl,
} from "../../oauth/resource.ts";
import { type Gate, presentedBearer, printChallenge } from "./gate.ts";

/** A verified token, cached for up to a second. */
interface Verified {
  authenticated: Authenticated;
  expiresAt: number;
  /** True if the person paused the connection with the client. */
  isPaused: boolean;
}

/**
 * Authenticates callers by this server's access tokens. Background work needs
 * only the grant, not a token. Tokens and grants are cached for up to a second.
 */
export function oauthDoor(
  parts: {
    baseUrl: string;
    providers: readonly { id: string }[];
    /** The scopes that every sign-in requests. Challenges name them. */
    scopes: Pick<Scopes, "usual">;
    /** Computes the scopes of a grant that are still effective. */
    effectiveScopes: FindEffectiveScopes;
    accessTokens: Pick<AccessTokenStore, "find" | "findGrant">;
    grants: Pick<GrantStore, "touch">;
    upstream: ProviderTokens["upstream"];
    exchange: ProviderTokens["exchange"];
    lifetimes: Lifetimes;
    /**
     * Starts database reads for a grant's calls, in parallel with reading the
     * token.
     */
    readAhead?(grantId: string): void;
    clock: Clock;
  },
): Gate {
  const { baseUrl, providers, effectiveScopes, accessTokens, grants } = parts;
  const { lifetimes, clock } = parts;
  const verified = recentReads(read);
  const live = recentReads(accessTokens.findGrant);

  async function find(
    grantId: string,
    scopes: readonly string[],
  ): Promise<{ grant: Grant; effective: EffectiveScopes } | undefined> {
    const grant = await live.find(grantId);
    if (!grant) return undefined;
    const { expiresAt } = withinLifetimes(grant, lifetimes);
    const effective = expiresAt > now(clock) && effectiveScopes(grant, scopes);
    return effective ? { grant, effective } : undefined;
  }

  /** True if a grant still has all these scopes, and is not paused. */
  async function stillHasScopes(
    grantId: string,
    scopes: readonly string[],
  ): Promise<boolean | "paused"> {
    const found = await find(grantId, scopes);
    if (found?.effective.scopes.length !== scopes.length) return false;
    return found.grant.pausedAt === undefined || "paused";
  }

  /** True if a token has neither expired nor been revoked. */
  async function isAccepted(
    token: string,
    expiresAt: number,
  ): Promise<boolean> {
    return expiresAt > now(clock) && await verified.find(token) !== undefined;
  }

  async function read(token: string): Promise<Verified | undefined> {
    const access = await accessTokens.find(token);
    if (!access) return undefined;
    const { grant, dataKey } = access;
    const effective = effectiveScopes(grant, access.scopes);
    if (!effective) return undefined;
    const isPaused = grant.pausedAt !== undefined;
    const expiresAt = tokenExpiry(grant, access, lifetimes);
    if (grant.kind === "token" && !isPaused) grants.touch(grant.id);
    return {
      authenticated: {
        caller: callerOf(grant, effective),
        ...dataKey && {
          upstream: parts.upstream({ grant, dataKey }),
          exchange: parts.exchange({ grant, dataKey }),
        },
        isLive: (grantId = grant.id) =>
          stillHasScopes(grantId, effective.scopes),
        isAccepted: () => isAccepted(token, expiresAt),
      },
      expiresAt,
      isPaused,
    };
  }

  function admit(found: Verified | undefined): Authenticated {
    if (found && found.expiresAt > now(clock)) {
      if (!found.isPaused) return found.authenticated;
      // Not 401: the client would discard tokens that become valid again
      // when the person resumes the connection.
      throw new HttpError(
        403,
        `This connection is paused: resume it at ${baseUrl}/account`,
      );
    }
    throw new ChallengeError(
      "The access token is unknown, expired or revoked",
      "invalid_token",
    );
  }

  return {
    authenticate(headers) {
      const token = presentedBearer(headers);
      const found = verified.find(token);
      if (!(found instanceof Promise)) return admit(found);
      const grantId = parts.readAhead && parseCredential(token)?.grantId;
      if (grantId !== undefined) parts.readAhead!(grantId);
      return found.then(admit);
    },

    // Without `upstream`: only the access token decrypts the provider's
    // tokens.
    async restore({ grantId = "", scopes }) {
      const found = await find(grantId, scopes === "all" ? [] : scopes);
      if (!found) return undefined;
      const { grant, effective } = found;
      return {
        caller: callerOf(grant, effective),
        isLive: (id = grantId) => stillHasScopes(id, effective.scopes),
      };
    },

    isConfigured: ({ door, provider }) =>
      (door === "oauth" || door === "token") &&
      (provider === undefined || providers.some(({ id }) => id === provider)),

    challenge: (refusal, sid) =>
      // Clients of RFC 9728 follow `resource_metadata`; others look for
      // `authorization_uri`.
      printChallenge(refusal, {
        resource_metadata: resourceMetadataUrl(baseUrl, sid),
        authorization_uri: serverMetadataUrl(baseUrl),
      }, parts.scopes.usual),
  };
}
