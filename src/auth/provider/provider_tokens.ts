/**
 * A grant's tokens at the provider, kept valid: one refresh at a time across
 * all processes. A grant ends when its provider token does.
 *
 * @module
 */
import type { Identity, Upstream } from "../../caller.ts";
import { ChallengeError } from "../../errors.ts";
import {
  REFRESH_LEASE_SECONDS,
  REFRESH_STORE_SECONDS,
  REFRESH_WAIT_SECONDS,
  UPSTREAM_MARGIN_SECONDS,
} from "../rules/lifetimes.ts";
import { type Grant, isPersonOf, type KnownPerson } from "../rules/grant.ts";
import type { GrantStore } from "../../store/grants.ts";
import { type Clock, now } from "../../clock.ts";
import type { Entry } from "../../store/database.ts";
import type { CommitWith, Write } from "../../store/transaction.ts";
import type {
  FoundTokens,
  UpstreamRecord,
  UpstreamTokenStore,
} from "../../store/upstream_tokens.ts";
import { api } from "./api.ts";
import {
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";
import {
  askProvider,
  identifyAgain,
  providerUnavailable,
} from "./unavailable.ts";

/** Opens the sealed tokens of one grant. */
export interface GrantKey {
  grant: Pick<Grant, "id"> & KnownPerson;
  dataKey(): Promise<Uint8Array>;
  /** The tokens, if they were read together with their key. */
  sealed?: Entry<UpstreamRecord>;
}

/**
 * The provider's tokens of all grants. Those of another provider's grants are
 * not opened: they are as good as dead.
 */
export interface ProviderTokens {
  /**
   * Refreshes tokens that would soon expire, if they can be refreshed: a grant
   * may outlive a provider token that cannot. Then it commits the change that
   * depends on it and gives the result; undefined: nothing was committed.
   *
   * @param commit stores new tokens together with its own change, by `also`; if
   * it commits nothing, they are stored alone
   * @throws {ChallengeError} when the tokens are dead; the grant has then ended
   * @throws {import("../../errors.ts").HttpError} 503 when the provider does not answer
   */
  refreshIfDue<T>(
    key: GrantKey,
    commit: (also?: Write) => Promise<T | undefined>,
  ): Promise<T | undefined>;
  /**
   * Identifies the person as of now, by tokens that were refreshed for this if
   * possible; undefined if the provider cannot be asked any more.
   *
   * @throws as {@linkcode refreshIfDue}
   */
  identify(key: GrantKey): Promise<Identity | undefined>;
  /** Makes the API for tools. */
  upstream(key: GrantKey): Upstream;
  /**
   * Reads a grant's tokens while that is possible, and gives a function that
   * revokes them at the provider.
   */
  revocation(key: GrantKey): Promise<() => Promise<void>>;
}

/** The reason and the conditions of a refresh. */
interface Refresh {
  /** The access token that the provider no longer accepts. */
  rejected?: string;
  /** Commits new tokens together with another change. */
  commit?: CommitWith;
  /** True if the provider is to say who the person is. */
  asks?: boolean;
}

/** The pause before another try at storing tokens, in milliseconds. */
const STORE_PAUSE_MILLISECONDS = 200;

/** Connects grants to the provider. */
export function providerTokens({
  provider,
  providerId,
  grants,
  upstreamTokens,
  clock,
  waitSeconds = REFRESH_WAIT_SECONDS,
}: {
  provider: Provider;
  providerId: string;
  grants: GrantStore;
  upstreamTokens: UpstreamTokenStore;
  clock: Clock;
  /** The seconds for which a request waits for a refresh. */
  waitSeconds?: number;
}): ProviderTokens {
  /** Refreshes that run in this process, by grant. */
  const refreshing = new Map<string, Promise<UpstreamTokens>>();

  function isAlive({ expiresAt }: UpstreamTokens, marginSeconds = 0): boolean {
    return expiresAt === undefined || expiresAt > now(clock) + marginSeconds;
  }

  function isGood(tokens: UpstreamTokens, rejected?: string): boolean {
    return tokens.accessToken !== rejected &&
      isAlive(tokens, UPSTREAM_MARGIN_SECONDS);
  }

  async function find(
    { grant, dataKey, sealed }: GrantKey,
  ): Promise<FoundTokens | undefined> {
    if (!isPersonOf(grant, providerId)) return undefined;
    return await upstreamTokens.find(grant.id, await dataKey(), sealed);
  }

  async function findLive(key: GrantKey): Promise<FoundTokens> {
    const found = await find(key);
    if (found) return found;
    throw died();
  }

  /** Gives valid tokens: the ones found, or refreshed ones. */
  async function keepGood(
    found: FoundTokens,
    { rejected, ...how }: Refresh = {},
  ): Promise<UpstreamTokens> {
    const { grantId } = found;
    const current = parse(found);
    if (isGood(current, rejected)) return current;
    let refresh = refreshing.get(grantId);
    if (!refresh) {
      refresh = refreshOnce(found, { rejected, ...how })
        .finally(() => refreshing.delete(grantId));
      refreshing.set(grantId, refresh);
    }
    return await wait(refresh);
  }

  async function refreshOnce(
    found: FoundTokens,
    { rejected, ...how }: Refresh,
  ): Promise<UpstreamTokens> {
    const { grantId, dataKey } = found;
    for (;;) {
      const current = parse(found);
      if (isGood(current, rejected)) return current;
      if (current.refreshToken === undefined) {
        // There is no refresh token: the access token is used until it expires.
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
          how,
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
    { commit, asks }: Refresh,
  ): Promise<UpstreamTokens | undefined> {
    let refreshed: UpstreamTokens;
    try {
      refreshed = await provider.refresh(refreshToken);
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === "dead") {
        if (await isReplaced(leased)) return undefined;
        throw await close(leased.grantId, error);
      }
      // Releases the lease if possible, so that no one has to wait for its end.
      await upstreamTokens.release(leased).catch(() => {});
      throw error instanceof UpstreamError
        ? providerUnavailable(provider.name, error)
        : error;
    }
    // A provider that does not rotate sends no refresh token (RFC 6749 §6).
    const kept = { ...refreshed };
    kept.refreshToken ??= refreshToken;
    // A request that waits at another process for this refresh may need it too.
    const stored = asks ? kept : { ...kept, idToken: undefined };
    const isStored = await store(leased, JSON.stringify(stored), commit);
    return isStored ? kept : undefined;
  }

  /**
   * Stores the provider's new tokens in place of the leased ones. The provider
   * may have ended the old ones, so this is tried until it works or time is up;
   * until then the new tokens exist only in this promise. False when the grant
   * has ended.
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
        // Another process may have leased the old tokens too; ours are newer.
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

  /**
   * Waits for a refresh no longer than a client would; the refresh goes on
   * anyway.
   */
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
    // Undefined: it does not tell.
    const isAlive = await askProvider(
      provider,
      async () => await provider.isAlive?.(rejected),
    );
    if (isAlive) return undefined;
    if (current.refreshToken !== undefined) {
      return await keepGood(found, { rejected });
    }
    // If the provider cannot tell, the grant does not end.
    if (isAlive === undefined) return undefined;
    throw await close(key.grant.id);
  }

  /**
   * True if the lease has expired and another process has replaced the tokens
   * since: the refresh token that failed was an old one.
   */
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

  async function identify(key: GrantKey): Promise<Identity | undefined> {
    const found = await findLive(key);
    const current = parse(found);
    const fresh = current.refreshToken === undefined
      // An old id_token does not tell the identity of today.
      ? { ...current, idToken: undefined }
      : await keepGood(found, { rejected: current.accessToken, asks: true });
    if (!provider.identify || !isAlive(fresh)) return undefined;
    const { grant: { id, identity } } = key;
    return await identifyAgain(
      provider,
      fresh,
      identity,
      (cause) => close(id, cause),
    );
  }

  return {
    identify,
    upstream: (key) =>
      api(provider, {
        tokens: async () => await keepGood(await findLive(key)),
        renew: (rejected) => renew(key, rejected),
      }),

    async refreshIfDue(key, commit) {
      const found = await find(key);
      if (!found || parse(found).refreshToken === undefined) {
        return await commit();
      }
      let committing: ReturnType<typeof commit> | undefined;
      let isWaiting = true;
      try {
        await keepGood(found, {
          commit: async (also) => {
            // A request that stopped waiting has told its client to try again
            // already.
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
