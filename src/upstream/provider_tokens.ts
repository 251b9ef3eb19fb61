/**
 * A grant's tokens at the provider, kept valid: one refresh at a time across
 * all processes, and a grant whose provider token died ends with it.
 *
 * @module
 */
import type { Identity, Upstream } from "../caller.ts";
import { ChallengeError } from "../errors.ts";
import {
  REFRESH_LEASE_SECONDS,
  REFRESH_STORE_SECONDS,
  REFRESH_WAIT_SECONDS,
  UPSTREAM_MARGIN_SECONDS,
} from "../oauth/lifetimes.ts";
import { withoutMemberships } from "../oauth/permissions.ts";
import type { GrantStore } from "../store/grants.ts";
import { type Clock, now } from "../clock.ts";
import type { Entry } from "../store/database.ts";
import type { CommitWith, Write } from "../store/transaction.ts";
import type {
  FoundTokens,
  UpstreamRecord,
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
  /** The tokens, where they were read together with what opens them. */
  sealed?: Entry<UpstreamRecord>;
}

/** The provider's tokens, each in the name of one grant. */
export interface ProviderTokens {
  /**
   * Refreshes what would soon expire, where that is possible at all: a grant
   * may outlive a provider token that cannot be refreshed. Then it commits what
   * depends on that, and gives what came of it; undefined: nothing was committed.
   *
   * @param commit new tokens are stored by `also`, or alone where it commits
   * nothing
   * @throws {ChallengeError} when they are dead; the grant has then ended
   * @throws {import("../errors.ts").HttpError} 503 when the provider does not answer
   */
  keep<T>(
    key: GrantKey,
    commit: (also?: Write) => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /**
   * Who the person is today, by tokens that were refreshed for this where that
   * is possible. What the provider cannot be asked again is no longer known.
   *
   * @throws as {@linkcode keep}
   */
  identify(key: GrantKey, known: Identity): Promise<Identity>;
  /** What tools get. */
  upstream(key: GrantKey): Upstream;
  /**
   * Reads a grant's tokens while that is possible, and gives what tells the
   * provider that they are no longer needed.
   */
  revocation(key: GrantKey): Promise<() => Promise<void>>;
}

/** Why, and how, tokens are refreshed. */
interface Refresh {
  /** The access token that the provider no longer takes. */
  rejected?: string;
  /** What the new ones may be stored together with. */
  commit?: CommitWith;
}

/** How long to wait before another try at storing tokens, in milliseconds. */
const STORE_PAUSE_MILLISECONDS = 200;

/** Connects grants to the provider. */
export function providerTokens({
  provider,
  grants,
  upstreamTokens,
  clock,
  waitSeconds = REFRESH_WAIT_SECONDS,
}: {
  provider: Provider;
  grants: GrantStore;
  upstreamTokens: UpstreamTokenStore;
  clock: Clock;
  /** How long a request waits for a refresh. */
  waitSeconds?: number;
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

  async function find(
    { grantId, dataKey, sealed }: GrantKey,
  ): Promise<FoundTokens | undefined> {
    return await upstreamTokens.find(grantId, await dataKey(), sealed);
  }

  async function findLive(key: GrantKey): Promise<FoundTokens> {
    const found = await find(key);
    if (found) return found;
    throw died();
  }

  /** Tokens that are good: those that were found, or what they became. */
  async function keepGood(
    found: FoundTokens,
    { rejected, commit }: Refresh = {},
  ): Promise<UpstreamTokens> {
    const { grantId } = found;
    const current = parse(found);
    if (isGood(current, rejected)) return current;
    let refresh = refreshing.get(grantId);
    if (!refresh) {
      refresh = refreshOnce(found, { rejected, commit })
        .finally(() => refreshing.delete(grantId));
      refreshing.set(grantId, refresh);
    }
    return await wait(refresh);
  }

  async function refreshOnce(
    found: FoundTokens,
    { rejected, commit }: Refresh,
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
        const refreshed = await refreshLeased(
          leased,
          current.refreshToken,
          commit,
        );
        if (refreshed) return refreshed;
      } else {
        await upstreamTokens.waitForRefresh(
          grantId,
          AbortSignal.timeout(REFRESH_LEASE_SECONDS * 1000),
        ).catch((error) => {
          if (error?.name !== "TimeoutError") throw error;
        });
      }
      const again = await upstreamTokens.find(grantId, dataKey);
      if (!again) throw died();
      found = again;
    }
  }

  async function refreshLeased(
    leased: FoundTokens,
    refreshToken: string,
    commit?: CommitWith,
  ): Promise<UpstreamTokens | undefined> {
    let refreshed: UpstreamTokens;
    try {
      refreshed = await provider.refresh(refreshToken);
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === "dead") {
        if (await isReplaced(leased)) return undefined;
        throw await close(leased.grantId, error);
      }
      // No one has to wait for the rest of the lease, if that can be said.
      await upstreamTokens.release(leased).catch(() => {});
      throw error instanceof UpstreamError
        ? providerUnavailable(provider.name, error)
        : error;
    }
    // A provider that does not rotate sends no refresh token (RFC 6749 §6).
    const kept = { ...refreshed };
    kept.refreshToken ??= refreshToken;
    const isStored = await store(leased, JSON.stringify(kept), commit);
    return isStored ? kept : undefined;
  }

  /**
   * Stores what the provider gave in place of the leased tokens. It may have
   * ended those, so this is tried until it is done; meanwhile the tokens live
   * in this promise only. False when the grant has ended.
   */
  async function store(
    leased: FoundTokens,
    tokens: string,
    commit?: CommitWith,
  ): Promise<boolean> {
    const { grantId, dataKey } = leased;
    const endsAt = now(clock) + REFRESH_STORE_SECONDS;
    for (let current = leased;; commit = undefined) {
      try {
        if (await upstreamTokens.replace(current, tokens, commit)) return true;
        const again = await upstreamTokens.find(grantId, dataKey);
        // Someone may have leased the old ones too; ours are newer.
        if (again?.tokens !== leased.tokens) return again?.tokens === tokens;
        current = again;
      } catch (error) {
        if (now(clock) >= endsAt) throw error;
        await new Promise((resolve) =>
          setTimeout(resolve, STORE_PAUSE_MILLISECONDS)
        );
      }
    }
  }

  /** Waits for a refresh no longer than a client would; it goes on by itself. */
  async function wait<T>(refresh: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(providerUnavailable(provider.name)),
      waitSeconds * 1000,
    );
    try {
      return await Promise.race([refresh, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function renew(
    key: GrantKey,
    rejected: string,
  ): Promise<UpstreamTokens | undefined> {
    const found = await findLive(key);
    const current = parse(found);
    if (isGood(current, rejected)) return current;
    const isAlive = await ask(rejected);
    if (isAlive) return undefined;
    if (current.refreshToken !== undefined) {
      return await keepGood(found, { rejected });
    }
    // What no one can tell ends nothing.
    if (isAlive === undefined) return undefined;
    throw await close(key.grantId);
  }

  /** Whether the provider takes an access token; undefined: it does not say. */
  async function ask(accessToken: string): Promise<boolean | undefined> {
    try {
      return await provider.isAlive?.(accessToken);
    } catch (error) {
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

  async function identify(
    key: GrantKey,
    known: Identity,
  ): Promise<Identity> {
    const found = await findLive(key);
    const current = parse(found);
    const fresh = current.refreshToken === undefined
      // An id_token that is not new says nothing of today.
      ? { ...current, idToken: undefined }
      : await keepGood(found, { rejected: current.accessToken });
    if (!provider.identify || !isAlive(fresh)) return withoutMemberships(known);
    try {
      const identity = await provider.identify(fresh);
      if (identity.subject === known.subject) return identity;
      throw new UpstreamError("misbehaved", "It named someone else");
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      if (error.kind === "dead") throw await close(key.grantId, error);
      throw providerUnavailable(provider.name, error);
    }
  }

  return {
    identify,
    upstream: (key) =>
      api(provider, {
        tokens: async () => await keepGood(await findLive(key)),
        renew: (rejected) => renew(key, rejected),
      }),

    async keep(key, commit) {
      const found = await find(key);
      if (!found || parse(found).refreshToken === undefined) {
        return await commit();
      }
      let committing: ReturnType<typeof commit> | undefined;
      let isWaiting = true;
      try {
        await keepGood(found, {
          commit: async (also) => {
            // Who no longer waits has told its client to try again.
            if (!isWaiting) return false;
            committing = commit(also);
            return await committing.catch(() => undefined) !== undefined;
          },
        });
      } finally {
        isWaiting = false;
      }
      return await (committing ?? commit());
    },

    async revocation(key) {
      if (!provider.revoke) return () => Promise.resolve();
      const found = await find(key);
      return async () => {
        if (found) await provider.revoke!(parse(found));
      };
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
