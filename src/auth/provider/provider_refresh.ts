/**
 * The refresh of a grant's tokens at the provider: one at a time across all
 * processes. The grant ends when its tokens are dead.
 *
 * @module
 */
import { ChallengeError } from "../../errors.ts";
import {
  REFRESH_LEASE_SECONDS,
  REFRESH_STORE_SECONDS,
  REFRESH_WAIT_SECONDS,
  UPSTREAM_MARGIN_SECONDS,
} from "../../oauth/lifetimes.ts";
import type { GrantStore } from "../../store/grants.ts";
import { type Clock, now, pause } from "../../clock.ts";
import type { Write } from "../../store/transaction.ts";
import type {
  FoundTokens,
  UpstreamTokenStore,
} from "../../store/upstream_tokens.ts";
import {
  type Provider,
  UpstreamError,
  type UpstreamTokens,
} from "./provider.ts";
import { providerUnavailable } from "./unavailable.ts";

interface RefreshOptions {
  /** The access token that the provider no longer accepts. */
  rejected?: string;
  /** Writes to commit together with new tokens. */
  extraWrites?: Write;
}

/** Usable tokens, and the extra writes that were committed with them, if any. */
interface Refreshed {
  tokens: UpstreamTokens;
  written?: Write;
}

/** The pause before another try at storing tokens, in milliseconds. */
const STORE_PAUSE_MILLISECONDS = 200;

/** Makes the refresh of stored tokens. It ends grants whose tokens are dead. */
export function providerRefresh({
  grants,
  upstreamTokens,
  clock,
  waitSeconds = REFRESH_WAIT_SECONDS,
}: {
  grants: Pick<GrantStore, "revoke">;
  upstreamTokens: UpstreamTokenStore;
  clock: Clock;
  /** The seconds for which a request waits for a refresh. */
  waitSeconds?: number;
}) {
  const refreshing = new Map<string, Promise<Refreshed>>();

  function isAlive({ expiresAt }: UpstreamTokens, marginSeconds = 0): boolean {
    return expiresAt === undefined || expiresAt > now(clock) + marginSeconds;
  }

  function isUsable(tokens: UpstreamTokens, rejected?: string): boolean {
    return tokens.accessToken !== rejected &&
      isAlive(tokens, UPSTREAM_MARGIN_SECONDS);
  }

  /** Gives usable tokens: those found, or refreshed ones. */
  async function valid(
    provider: Provider,
    found: FoundTokens,
    options: RefreshOptions = {},
  ): Promise<Refreshed> {
    const { grantId } = found;
    const tokens = parseTokens(found);
    if (isUsable(tokens, options.rejected)) return { tokens };
    let refresh = refreshing.get(grantId);
    if (!refresh) {
      refresh = refreshOnce(provider, found, options)
        .finally(() => refreshing.delete(grantId));
      refreshing.set(grantId, refresh);
    }
    return await wait(refresh, provider);
  }

  async function refreshOnce(
    provider: Provider,
    found: FoundTokens,
    { rejected, extraWrites }: RefreshOptions,
  ): Promise<Refreshed> {
    const { grantId, dataKey } = found;
    for (;;) {
      const tokens = parseTokens(found);
      if (isUsable(tokens, rejected)) return { tokens };
      if (tokens.refreshToken === undefined) {
        // There is no refresh token: the access token is used until it expires.
        if (tokens.accessToken !== rejected && isAlive(tokens)) {
          return { tokens };
        }
        throw await endGrant(grantId);
      }
      const leased = await upstreamTokens.lease(found);
      if (leased) {
        const refreshed = await refreshLeased(
          provider,
          leased,
          tokens.refreshToken,
          extraWrites,
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
      if (!again) throw signInEnded();
      found = again;
    }
  }

  async function refreshLeased(
    provider: Provider,
    leased: FoundTokens,
    refreshToken: string,
    extraWrites?: Write,
  ): Promise<Refreshed | undefined> {
    let refreshed: UpstreamTokens;
    try {
      refreshed = await provider.refresh(refreshToken);
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === "dead") {
        if (await isReplaced(leased)) return undefined;
        throw await endGrant(leased.grantId, error);
      }
      // Releases the lease if possible, so that no one has to wait for its end.
      await upstreamTokens.release(leased).catch(() => {});
      throw error instanceof UpstreamError
        ? providerUnavailable(provider.name, error)
        : error;
    }
    // A provider that does not rotate sends no refresh token (RFC 6749 §6). The
    // id_token is kept too: a request that waits for this refresh at another
    // process may need to know who the person is.
    const tokens = { ...refreshed };
    tokens.refreshToken ??= refreshToken;
    const stored = await store(leased, JSON.stringify(tokens), extraWrites);
    return stored && { tokens, ...stored };
  }

  /**
   * Stores the provider's new tokens in place of the leased ones. The provider
   * may have ended the old ones, so this is tried until it works or time is up;
   * until then the new tokens are only in this promise. Undefined if the grant
   * has ended.
   *
   * @param extraWrites go with the first try alone: their checks may fail, and
   * the caller learns from the result if they were written
   */
  async function store(
    leased: FoundTokens,
    tokens: string,
    extraWrites?: Write,
  ): Promise<Pick<Refreshed, "written"> | undefined> {
    const { grantId, dataKey } = leased;
    const endMilliseconds = performance.now() + REFRESH_STORE_SECONDS * 1000;
    for (let current = leased;; extraWrites = undefined) {
      try {
        if (await upstreamTokens.replace(current, tokens, extraWrites)) {
          return { written: extraWrites };
        }
        const again = await upstreamTokens.find(grantId, dataKey);
        if (again?.tokens === tokens) return {};
        // Another process may have leased the old tokens too; ours are newer.
        if (again?.tokens !== leased.tokens) return undefined;
        current = again;
      } catch (error) {
        if (performance.now() >= endMilliseconds) throw error;
        await pause(STORE_PAUSE_MILLISECONDS);
      }
    }
  }

  /** Waits no longer than a client would; the refresh goes on anyway. */
  async function wait<T>(
    refresh: Promise<T>,
    { name }: Pick<Provider, "name">,
  ): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(providerUnavailable(name)),
      waitSeconds * 1000,
    );
    try {
      return await Promise.race([refresh, late.promise]);
    } finally {
      clearTimeout(timer);
    }
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

  async function endGrant(
    grantId: string,
    cause?: unknown,
  ): Promise<ChallengeError> {
    await grants.revoke(grantId);
    return signInEnded(cause);
  }

  return { valid, isAlive, isUsable, endGrant };
}

/** Parses tokens that were stored. */
export function parseTokens({ tokens }: FoundTokens): UpstreamTokens {
  return JSON.parse(tokens);
}

/** Makes the refusal of a grant whose tokens are dead. */
export function signInEnded(cause?: unknown): ChallengeError {
  return new ChallengeError(
    "The sign-in at the provider has ended",
    "invalid_token",
    [],
    { cause },
  );
}
