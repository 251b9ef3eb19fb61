/**
 * A grant's tokens at the provider, kept valid: one refresh at a time across
 * all processes, and a grant whose provider token died ends with it.
 *
 * @module
 */
import type { Upstream } from "../caller.ts";
import { ChallengeError } from "../errors.ts";
import {
  REFRESH_LEASE_SECONDS,
  UPSTREAM_MARGIN_SECONDS,
} from "../oauth/lifetimes.ts";
import type { GrantStore } from "../store/grants.ts";
import { type Clock, now } from "../clock.ts";
import type {
  FoundTokens,
  UpstreamTokenStore,
} from "../store/upstream_tokens.ts";
import { api } from "./api.ts";
import {
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";
import { providerUnavailable } from "./unavailable.ts";

/** Opens the sealed tokens of one grant. */
export interface GrantKey {
  grantId: string;
  dataKey(): Promise<Uint8Array>;
}

/** ProviderTokens to the provider, each in the name of one grant. */
export interface ProviderTokens {
  /**
   * Tokens that are valid now.
   *
   * @param rejected an access token that the provider does not take any more
   * @throws {ChallengeError} when they are dead; the grant has then ended
   * @throws {import("../errors.ts").HttpError} 503 when the provider does not answer
   */
  tokens(key: GrantKey, rejected?: string): Promise<UpstreamTokens>;
  /**
   * Refreshes what would soon expire, where that is possible at all: a grant
   * may outlive a provider token that cannot be refreshed.
   *
   * @throws as {@linkcode ProviderTokens.tokens}
   */
  keep(key: GrantKey): Promise<void>;
  /** What tools get. */
  upstream(key: GrantKey): Upstream;
  /** Tells the provider that a grant's tokens are no longer needed. */
  revoke(key: GrantKey): Promise<void>;
}

/** Connects grants to the provider. */
export function providerTokens({ provider, grants, upstreamTokens, clock }: {
  provider: Provider;
  grants: GrantStore;
  upstreamTokens: UpstreamTokenStore;
  clock: Clock;
}): ProviderTokens {
  /** Refreshes under way in this process, by grant. */
  const refreshing = new Map<string, Promise<UpstreamTokens>>();

  function isAlive({ expiresAt }: UpstreamTokens, marginSeconds = 0): boolean {
    return expiresAt === undefined || expiresAt > now(clock) + marginSeconds;
  }

  function isGood(tokens: UpstreamTokens, rejected?: string): boolean {
    return tokens.accessToken !== rejected &&
      isAlive(tokens, UPSTREAM_MARGIN_SECONDS);
  }

  async function tokens(
    key: GrantKey,
    rejected?: string,
  ): Promise<UpstreamTokens> {
    const found = await upstreamTokens.find(key.grantId, await key.dataKey());
    if (!found) throw died();
    const current = parse(found);
    if (isGood(current, rejected)) return current;
    let refresh = refreshing.get(key.grantId);
    if (!refresh) {
      refresh = refreshOnce(found, rejected)
        .finally(() => refreshing.delete(key.grantId));
      refreshing.set(key.grantId, refresh);
    }
    return await refresh;
  }

  async function refreshOnce(
    found: FoundTokens,
    rejected: string | undefined,
  ): Promise<UpstreamTokens> {
    const { grantId, dataKey } = found;
    for (;;) {
      const current = parse(found);
      if (isGood(current, rejected)) return current;
      if (current.refreshToken === undefined) {
        // Nothing to refresh it with: it serves until it expires.
        if (current.accessToken !== rejected && isAlive(current)) {
          return current;
        }
        throw await close(grantId);
      }
      const leased = await upstreamTokens.lease(found);
      if (leased) {
        const refreshed = await refreshLeased(leased, current.refreshToken);
        if (refreshed) return refreshed;
      } else {
        await upstreamTokens.waitForRefresh(
          grantId,
          AbortSignal.timeout((REFRESH_LEASE_SECONDS + 1) * 1000),
        );
      }
      const again = await upstreamTokens.find(grantId, dataKey);
      if (!again) throw died();
      found = again;
    }
  }

  async function refreshLeased(
    leased: FoundTokens,
    refreshToken: string,
  ): Promise<UpstreamTokens | undefined> {
    try {
      const refreshed = await provider.refresh(refreshToken);
      // A provider that does not rotate sends no refresh token (RFC 6749 §6).
      const kept = { ...refreshed };
      kept.refreshToken ??= refreshToken;
      const isOurs = await upstreamTokens.replace(leased, JSON.stringify(kept));
      return isOurs ? kept : undefined;
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === "dead") {
        if (await isReplaced(leased)) return undefined;
        throw await close(leased.grantId, error);
      }
      await upstreamTokens.release(leased);
      throw error instanceof UpstreamError
        ? providerUnavailable(provider.name, error)
        : error;
    }
  }

  /** Whether a lease has lapsed, and its refresh token died of old age. */
  async function isReplaced(
    { grantId, dataKey, tokens }: FoundTokens,
  ): Promise<boolean> {
    const found = await upstreamTokens.find(grantId, dataKey);
    return found !== undefined && found.tokens !== tokens;
  }

  async function close(
    grantId: string,
    cause?: unknown,
  ): Promise<ChallengeError> {
    await grants.close(grantId);
    return died(cause);
  }

  return {
    tokens,

    upstream: (key) =>
      api(provider, {
        tokens: (rejected) => tokens(key, rejected),
        died: () => close(key.grantId),
      }),

    async keep(key) {
      const found = await upstreamTokens.find(key.grantId, await key.dataKey());
      if (found && parse(found).refreshToken !== undefined) await tokens(key);
    },

    async revoke(key) {
      if (!provider.revoke) return;
      const found = await upstreamTokens.find(key.grantId, await key.dataKey());
      if (found) await provider.revoke(parse(found));
    },
  };
}

function parse({ tokens }: FoundTokens): UpstreamTokens {
  return JSON.parse(tokens);
}

function died(cause?: unknown): ChallengeError {
  return new ChallengeError(
    "The sign-in at the provider has ended",
    "invalid_token",
    [],
    { cause },
  );
}
