/**
 * A refresh: a refresh token is exchanged once, for a new pair. Until a token
 * of that pair is used, the used one still gives that same pair, because
 * responses get lost and databases stall; and for 30 s after the first call
 * with its access token, because some clients refresh from two machines. After
 * that it is a replay, and the grant ends.
 *
 * @see RFC 6749 §6, RFC 9700 §4.14.2
 * @module
 */
import { now } from "../../clock.ts";
import { ChallengeError, type OAuthError } from "../../errors.ts";
import type { Client } from "../../oauth/client.ts";
import { unwrapDataKey } from "../../oauth/data_key.ts";
import {
  endOfToken,
  type Grant,
  isGrantOf,
  withinLifetimes,
} from "../../oauth/grant.ts";
import { refusedByBlock } from "../../oauth/allowed_users.ts";
import { SUCCESSOR_MARGIN_SECONDS } from "../../oauth/lifetimes.ts";
import { isMinted } from "../../oauth/credential.ts";
import { resourceOf } from "../../oauth/resource.ts";
import { narrowScopes, parseScope } from "../../oauth/scope.ts";
import { invalidGrant, type Parameters } from "../../oauth/parameters.ts";
import type { IssuedTokens } from "../../oauth/token_response.ts";
import type { ReadRefreshToken } from "../../store/refresh_tokens.ts";
import type { Write } from "../../store/transaction.ts";
import { Buckets, type Rate } from "../../http/buckets.ts";
import { refuseFor } from "../../http/rate_limit.ts";
import type { ProviderTokens } from "../provider/provider_tokens.ts";
import type { AuthServices } from "../services.ts";

/** The rate of refreshes of one grant, in each process. */
const PER_GRANT: Rate = { burst: 600, perSecond: 1 };

/**
 * Makes the refresh: for a client that has authenticated, with a token whose
 * reading may have begun.
 *
 * @throws {OAuthError} `invalid_grant` or `invalid_scope`
 * @throws {import("../../errors.ts").HttpError} 503 when the provider does not
 * answer, 429 when the client refreshes without end
 */
export function refreshTokenGrant(
  services:
    & Pick<
      AuthServices,
      | "baseUrl"
      | "refreshTokens"
      | "grants"
      | "confirmation"
      | "heldOf"
      | "lifetimes"
      | "clock"
    >
    & { providerTokens: Pick<ProviderTokens, "identify" | "refreshIfDue"> },
) {
  const { baseUrl, refreshTokens, grants, providerTokens } = services;
  const { confirmation, heldOf, lifetimes, clock } = services;
  const here = { issuer: baseUrl, resource: resourceOf(baseUrl) };
  const refreshes = new Buckets(PER_GRANT);

  return async function refresh(
    parameters: Parameters,
    client: Pick<Client, "clientId">,
    reading?: Promise<ReadRefreshToken | undefined>,
  ): Promise<IssuedTokens> {
    const refreshToken = parameters.require("refresh_token");
    const scopes = parseScope(parameters.get("scope"));
    for (;; reading = undefined) {
      const presented = await (reading ?? refreshTokens.read(refreshToken));

      // A block, before anything is answered again.
      if (presented?.isBlocked && isOf(client, presented.grant.value)) {
        throw refusedByBlock("invalid_grant");
      }

      // Exchanged before: the same pair again, while its access token is good
      // and holds what this request may get.
      const known = presented?.grant.value;
      const { tokens: answer, isRevoked } = isOf(client, known)
        ? await refreshTokens.answerAgain(presented!) ?? {}
        : {};
      const leastExpiresAt = now(clock) + SUCCESSOR_MARGIN_SECONDS;
      if (answer && !isRevoked && answer.expiresAt > leastExpiresAt) {
        const wanted = heldOf(known!, requestedScopes(scopes, known!));
        const isOver = now(clock) >= endOfToken(known!, answer, lifetimes);
        const isSame = !wanted || isSameScopes(wanted.scopes, answer.scopes);
        if (isSame && !isOver) return answer;
      }
      // After that a new access token, with the refresh token of that pair.
      const read = answer
        ? await refreshTokens.read(answer.refreshToken!)
        : presented;
      // That one was exchanged this moment: nothing is left of the answer.
      if (answer && read?.successor.value) continue;

      // A token of a live grant of this client.
      const stored = read?.grant.value;
      if (!read || !isOf(client, stored)) throw unknown();
      const grant = withinLifetimes(stored, lifetimes);
      const { token: { value: record } } = read;
      const { refreshKey } = grant;
      if (!record && !isMinted(read.refreshToken, refreshKey)) throw unknown();

      // A replay. Its tag proves that a token is one of the grant's, even if
      // nothing is left of it.
      if (!record || record.usedAt !== undefined) {
        await grants.end(grant.id, read.grant);
        throw invalidGrant("The refresh token was used before");
      }

      const requested = requestedScopes(scopes, grant);

      // The person as of now, where a rule looks at what may have changed. The
      // provider's new tokens are stored before that.
      if (!isGrantOf(grant, here) || grant.expiresAt <= now(clock)) {
        throw ended();
      }
      const credential = read.refreshToken;
      const { wrappedKey } = record;
      const dataKey = await unwrapDataKey(wrappedKey, grant.id, credential);
      const key = {
        grant,
        dataKey: () => Promise.resolve(dataKey),
        sealed: read.upstream,
      };
      const time = now(clock);
      const isDue = confirmation.isDue(grant, time);
      let confirmed = grant;
      if (isDue) {
        const identity = await providerTokens.identify(key).catch(refuseDead);
        const confirm = (known: Grant) =>
          confirmation.confirm(known, identity, time);
        confirmed = confirm(grant);
        if (!heldOf(confirmed)) {
          // Its access token must not last until it expires.
          await grants.change(read.grant, confirm);
          throw ended();
        }
      }

      // The operator's rules of today.
      const held = heldOf(confirmed, requested);
      if (!held) throw ended();
      refuseFor(refreshes.take(grant.id));

      // The provider's tokens before ours: if it does not answer, the client
      // still holds a refresh token that works.
      const live = {
        grant: confirmed,
        dataKey,
        record,
        read,
        ...answer && { repeated: presented },
      };
      const rotate = (also?: Write) =>
        refreshTokens.rotate(live, held.scopes, also);
      const tokens = isDue
        ? await rotate()
        : await providerTokens.refreshIfDue(key, rotate).catch(refuseDead);
      if (tokens) return tokens;
      // Another request was faster.
    }
  };
}

/** True if a grant is alive and the client's. */
function isOf(
  { clientId }: Pick<Client, "clientId">,
  grant: Grant | undefined,
): grant is Grant {
  return grant?.status === "active" && grant.clientId === clientId;
}

/**
 * The scopes of a refresh. Those that the person has taken away since may be
 * requested, and are left out later, as RFC 6749 §6 allows.
 */
function requestedScopes(
  scopes: readonly string[],
  { scopes: held, grantedScopes = held }: Grant,
): readonly string[] {
  return narrowScopes(scopes, grantedScopes);
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

/** Refuses a grant whose tokens at the provider are dead. */
function refuseDead(error: unknown): never {
  throw error instanceof ChallengeError ? ended(error) : error;
}
