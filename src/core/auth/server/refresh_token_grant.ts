/**
 * Refresh token grant, with rotation and reuse detection. A refresh token is
 * exchanged once, for a new pair of tokens. Responses get lost, so the same
 * request gets the same pair again, until 30 seconds after the first call with
 * the new access token, or until the new refresh token is used. After that,
 * using the old refresh token is reuse, and ends the grant.
 * @see RFC 6749 §6, RFC 9700 §4.14.2
 * @module
 */
import { now } from "../../clock.ts";
import { ChallengeError, type OAuthError } from "../../errors.ts";
import type { Client } from "../../oauth/client.ts";
import {
  type Grant,
  isGrantOf,
  tokenExpiry,
  withinLifetimes,
} from "../../oauth/grant.ts";
import { refusedByBlock } from "../../oauth/allowed_users.ts";
import { REPLAY_MARGIN_SECONDS } from "../../oauth/lifetimes.ts";
import {
  dataKeyOf,
  type IssuedTokens,
  refreshTokenState,
  replayResponse,
} from "../../oauth/refresh_token.ts";
import { resourceOf } from "../../oauth/resource.ts";
import { narrowScopes, parseScope } from "../../oauth/scope.ts";
import { invalidGrant, type Parameters } from "../../oauth/parameters.ts";
import type { FoundRefreshToken } from "../../store/grants.ts";
import { Buckets, type Rate } from "../../http/buckets.ts";
import { refuseIfLimited } from "../../http/rate_limit.ts";
import type { ProviderTokens } from "../../provider/provider_tokens.ts";
import type { AuthServices } from "../services.ts";

/** The rate limit of each process for refreshes of one grant. */
const PER_GRANT: Rate = { burst: 600, perSecond: 1 };

/**
 * Makes the function that refreshes for an authenticated client. `reading` is
 * the read of the refresh token, if already started.
 *
 * @throws {OAuthError} `invalid_grant` or `invalid_scope`
 * @throws {import("../../errors.ts").HttpError} 503 if the provider does not
 * respond, 429 if the client refreshes too often
 */
export function refreshTokenGrant(
  services:
    & Pick<
      AuthServices,
      | "baseUrl"
      | "refreshTokens"
      | "grants"
      | "identityRecheck"
      | "effectiveScopes"
      | "lifetimes"
      | "clock"
    >
    & { providerTokens: Pick<ProviderTokens, "identify" | "refreshIfDue"> },
) {
  const { baseUrl, refreshTokens, grants, providerTokens } = services;
  const { identityRecheck, effectiveScopes, lifetimes, clock } = services;
  const here = { issuer: baseUrl, resource: resourceOf(baseUrl) };
  const refreshes = new Buckets(PER_GRANT);

  /**
   * True if a response may be repeated: its access token is still valid, with
   * the scopes that this request would get.
   */
  function mayReplay(
    response: IssuedTokens,
    grant: Grant,
    requested: readonly string[],
  ): boolean {
    if (grant.refreshTokens?.exchange?.isRevoked) return false;
    const effective = effectiveScopes(grant, requested);
    // No scope is left, so `refresh` later refuses the request.
    if (!effective) return false;
    if (!isSameScopes(effective.scopes, response.scopes)) return false;
    const time = now(clock);
    return time + REPLAY_MARGIN_SECONDS < response.expiresAt &&
      time < tokenExpiry(grant, response, lifetimes);
  }

  return async function refresh(
    parameters: Parameters,
    client: Pick<Client, "clientId">,
    reading?: Promise<FoundRefreshToken | undefined>,
  ): Promise<IssuedTokens> {
    const refreshToken = parameters.require("refresh_token");
    // The time of arrival. If this process stalls, the client may get its
    // tokens from another process meanwhile. This request must not look like
    // reuse then.
    const came = now(clock);
    const scopes = parseScope(parameters.get("scope"));
    for (;; reading = undefined) {
      // First the refresh token. It must be of an active grant of this
      // client.
      const read = await (reading ?? refreshTokens.read(refreshToken));
      const stored = read?.grant.value;
      if (!read || !isOf(client, stored)) throw unknown();
      if (read.isBlocked) throw refusedByBlock("invalid_grant");
      const time = now(clock);
      const state = refreshTokenState(
        refreshToken,
        stored,
        Math.min(came, time),
      );
      if (state === undefined) throw unknown();
      if (state === "reused") {
        await grants.revoke(stored.id, read.grant);
        throw invalidGrant("The refresh token was used before");
      }

      // A token that was already exchanged gets the same response again, as
      // long as `mayReplay` allows. After that, the client gets a new access
      // token, with the refresh token of the earlier response: the successor,
      // which alone decrypts the grant's data key.
      const { scopes: own, grantedScopes = own } = stored;
      // A request may name scopes that the person has revoked since the
      // sign-in. The token is issued without them, as RFC 6749 §6 allows.
      const requested = narrowScopes(scopes, grantedScopes);
      const replayed = state === "exchanged"
        ? await replayResponse(refreshToken, stored)
        : undefined;
      if (replayed && mayReplay(replayed, stored, requested)) return replayed;
      const { refreshToken: successor } = replayed ?? {};

      // Then the person's current identity, if a rule depends on it.
      // `identify` stores the provider's new tokens before it returns.
      let grant = withinLifetimes(stored, lifetimes);
      if (!isGrantOf(grant, here) || grant.expiresAt <= time) throw ended();
      const dataKey = await dataKeyOf(stored, successor ?? refreshToken);
      const key = {
        grant,
        dataKey: () => Promise.resolve(dataKey),
        sealed: read.upstream,
      };
      const needsIdentity = identityRecheck.isDue(grant, time);
      if (needsIdentity) {
        const identity = await providerTokens.identify(key).catch(refuseDead);
        const confirm = (known: Grant) =>
          identityRecheck.confirm(known, identity, time);
        grant = confirm(grant);
        // If the new identity is no longer allowed, it is stored at once, so
        // that the grant's access token is refused even before it expires.
        // Otherwise `exchange` stores it.
        if (!effectiveScopes(grant)) await grants.change(read.grant, confirm);
      }

      // Then the scopes that the present settings allow.
      const effective = effectiveScopes(grant, requested);
      if (!effective) throw ended();
      refuseIfLimited(refreshes.take(grant.id));

      // Last the tokens. The provider's tokens are refreshed by `identify`
      // before, or by `refreshIfDue` in the same commit. So if the provider
      // does not respond, the client's refresh token still works.
      const issuance = await refreshTokens.exchange(refreshToken, read, {
        grant,
        dataKey,
        scopes: effective.scopes,
        successor,
      });
      const isCommitted = !needsIdentity &&
          await providerTokens.refreshIfDue(key, issuance.write)
            .catch(refuseDead) ||
        await refreshTokens.commit(issuance, grant);
      if (isCommitted) return issuance.tokens;
      // Another request changed the grant first: read it again.
    }
  };
}

/** True if a grant is active and belongs to the client. */
function isOf(
  { clientId }: Pick<Client, "clientId">,
  grant: Grant | undefined,
): grant is Grant {
  return grant?.status === "active" && grant.clientId === clientId;
}

function isSameScopes(a: readonly string[], b: readonly string[]): boolean {
  return new Set(a).symmetricDifference(new Set(b)).size === 0;
}

function unknown(): OAuthError {
  return invalidGrant("The refresh token is unknown, expired or revoked");
}

function ended(cause?: unknown): OAuthError {
  return invalidGrant("The sign-in has ended", cause);
}

/**
 * Makes the refresh fail: with `invalid_grant` if the provider no longer
 * accepts the grant's tokens, otherwise with `error` itself.
 */
function refuseDead(error: unknown): never {
  throw error instanceof ChallengeError ? ended(error) : error;
}
