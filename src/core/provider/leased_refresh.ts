/**
 * The refresh of stored tokens: one at a time across all processes, and stored
 * before anyone uses them.
 *
 * @see RFC 6749 §6
 * @module
 */
import {
  REFRESH_LEASE_SECONDS,
  REFRESH_STORE_SECONDS,
  REFRESH_WAIT_SECONDS,
  UPSTREAM_MARGIN_SECONDS,
} from "../oauth/lifetimes.ts";
import { type Clock, now, pause, within } from "../clock.ts";
import type { Write } from "../kv/transaction.ts";
import { UpstreamError, type UpstreamTokens } from "./provider.ts";
import { RefreshFailures } from "./refresh_failures.ts";
import {
  parseTokens,
  type StoredTokens,
  type TokenIssuer,
  type TokenStore,
} from "./stored_tokens.ts";

export interface RefreshOptions {
  /** The access token that the server no longer accepts. */
  rejected?: string;
  /** Writes to commit together with new tokens. */
  extraWrites?: Write;
}

/** Usable tokens, and the extra writes that were committed with them, if any. */
export interface Refreshed {
  tokens: UpstreamTokens;
  written?: Write;
}

/** The pause before another try at storing tokens, in milliseconds. */
const STORE_PAUSE_MILLISECONDS = 200;

/** The time from the start of a refresh for which a close waits. */
const CLOSE_MILLISECONDS = 30_000;

export interface LeasedRefreshOptions {
  clock: Clock;
  /** Does what the close of the server waits for. */
  background(work: () => Promise<void>): unknown;
  /** The seconds for which a request waits for a refresh. */
  waitSeconds?: number;
  /** The least time between a failure and the next try, in seconds. */
  pauseSeconds?: number;
}

/** Makes the refresh of the tokens in a store. */
export function leasedRefresh<F extends StoredTokens>(
  store: TokenStore<F>,
  { clock, background, waitSeconds = REFRESH_WAIT_SECONDS, pauseSeconds = 0 }:
    LeasedRefreshOptions,
) {
  const refreshing = new Map<string, Promise<Refreshed>>();
  const failures = new RefreshFailures(pauseSeconds);

  function isAlive({ expiresAt }: UpstreamTokens, marginSeconds = 0): boolean {
    return expiresAt === undefined || expiresAt > now(clock) + marginSeconds;
  }

  function isUsable(tokens: UpstreamTokens, rejected?: string): boolean {
    return tokens.accessToken !== rejected &&
      isAlive(tokens, UPSTREAM_MARGIN_SECONDS);
  }

  /** Gives usable tokens: those found, or refreshed ones. */
  async function valid(
    issuer: TokenIssuer,
    found: F,
    options: RefreshOptions = {},
  ): Promise<Refreshed> {
    const tokens = parseTokens(found);
    if (isUsable(tokens, options.rejected)) return { tokens };
    const { id } = found;
    const failure = failures.find(id, found.tokens);
    if (failure) throw issuer.unavailable(failure.cause);
    let refresh = refreshing.get(id);
    if (!refresh) {
      refresh = refreshOnce(issuer, found, options).finally(() => {
        refreshing.delete(id);
        failures.endWait(id);
      });
      refreshing.set(id, refresh);
    }
    return await wait(refresh, issuer, found);
  }

  async function refreshOnce(
    issuer: TokenIssuer,
    found: F,
    { rejected, extraWrites }: RefreshOptions,
  ): Promise<Refreshed> {
    for (;;) {
      const tokens = parseTokens(found);
      if (isUsable(tokens, rejected)) return { tokens };
      if (tokens.refreshToken === undefined) {
        if (tokens.accessToken === rejected) throw await issuer.end();
        // There is no refresh token: the access token is used until it expires.
        const expired = isAlive(tokens)
          ? undefined
          : await issuer.expired(tokens);
        if (expired) throw expired;
        return { tokens };
      }
      const turn = takeTurn(issuer, found, tokens.refreshToken, extraWrites);
      background(() => within(CLOSE_MILLISECONDS, turn));
      const taken = await turn;
      if (taken?.refreshed) return taken.refreshed;
      if (!taken) {
        await store.waitForRefresh(
          found,
          // A little longer than a lease, which has lapsed then.
          AbortSignal.timeout((REFRESH_LEASE_SECONDS + 1) * 1000),
        ).catch((error) => {
          if (error?.name !== "TimeoutError") throw error;
        });
      }
      const again = await store.find(found);
      if (!again) throw issuer.gone();
      found = again;
    }
  }

  /** Refreshes tokens, unless another process has the lease for that. */
  async function takeTurn(
    issuer: TokenIssuer,
    found: F,
    refreshToken: string,
    extraWrites?: Write,
  ): Promise<{ refreshed?: Refreshed } | undefined> {
    const leased = await store.lease(found);
    if (!leased) return undefined;
    return {
      refreshed: await refreshLeased(
        issuer,
        leased,
        refreshToken,
        extraWrites,
      ),
    };
  }

  async function refreshLeased(
    issuer: TokenIssuer,
    leased: F,
    refreshToken: string,
    extraWrites?: Write,
  ): Promise<Refreshed | undefined> {
    let refreshed: UpstreamTokens;
    try {
      refreshed = await issuer.refresh(refreshToken);
    } catch (error) {
      if (isFinal(error)) {
        if (await isReplaced(leased)) return undefined;
        throw await issuer.end(error);
      }
      // Releases the lease if possible, so that no one has to wait for its end.
      await store.release(leased).catch(() => {});
      if (!(error instanceof UpstreamError)) throw error;
      failures.note(leased.id, leased.tokens, error);
      throw issuer.unavailable(error);
    }
    // A server that does not rotate sends no refresh token (RFC 6749 §6). The
    // id_token is kept too: a request that waits for this refresh at another
    // process may need to know who the person is.
    const tokens = { ...refreshed };
    tokens.refreshToken ??= refreshToken;
    return await keep(issuer, leased, tokens, extraWrites);
  }

  /**
   * Stores the new tokens in place of the leased ones. The server may have ended
   * the old ones, so this is tried until it works or time is up; until then the
   * new tokens are only in this promise. Undefined if their record is gone, or
   * has others.
   *
   * @param extraWrites go with the first try alone: their checks may fail, and
   * the caller learns from the result if they were written
   */
  async function keep(
    issuer: TokenIssuer,
    leased: F,
    tokens: UpstreamTokens,
    extraWrites?: Write,
  ): Promise<Refreshed | undefined> {
    const text = JSON.stringify(tokens);
    const endMilliseconds = performance.now() + REFRESH_STORE_SECONDS * 1000;
    for (let current = leased;; extraWrites = undefined) {
      try {
        if (await store.replace(current, text, extraWrites)) {
          return { tokens, written: extraWrites };
        }
        const again = await store.find(leased);
        if (again?.tokens === text) return { tokens };
        if (!again) await issuer.discard?.(tokens);
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
    issuer: TokenIssuer,
    { id, tokens }: F,
  ): Promise<T> {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      failures.note(id, tokens);
      late.reject(issuer.unavailable());
    }, waitSeconds * 1000);
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
  async function isReplaced(leased: F): Promise<boolean> {
    const found = await store.find(leased);
    return found !== undefined && found.tokens !== leased.tokens;
  }

  return { valid, isAlive, isUsable };
}

/** True if a server has said that it refreshes the tokens no more. */
function isFinal(error: unknown): boolean {
  return error instanceof UpstreamError &&
    (error.kind === "dead" || error.kind === "denied");
}
