/**
 * Refreshes stored tokens. A lease lets only one process refresh them at a
 * time; new tokens are stored before anyone uses them.
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
import { untilReachable } from "../kv/operations.ts";
import type { Write } from "../kv/database.ts";
import { UpstreamError, type UpstreamTokens } from "./provider.ts";
import { RefreshFailures } from "./refresh_failures.ts";

interface StoredTokens {
  /** The id of the record. */
  readonly id: string;
  /** The decrypted tokens as JSON. */
  tokens: string;
}

/**
 * A store of tokens, with a lease so that one process at a time refreshes them.
 */
export interface LeasedTokenStore<F extends StoredTokens> {
  /** Reads the tokens again; undefined if the record is gone. */
  find(found: F): Promise<F | undefined>;
  /** Takes the lease to refresh tokens; undefined if another process has it. */
  lease(found: F): Promise<F | undefined>;
  release(leased: F): Promise<void>;
  /** Replaces the tokens. Returns false if the record has changed meanwhile. */
  replace(leased: F, tokens: string, extraWrites?: Write): Promise<boolean>;
  /** Waits until the lease is released or has expired. */
  waitForLease(found: F, signal: AbortSignal): Promise<void>;
}

/** The server that issued the tokens, and the errors for a failed refresh. */
export interface TokenIssuer {
  /** @throws {UpstreamError} */
  refresh(
    refreshToken: string,
    tokens: UpstreamTokens,
  ): Promise<UpstreamTokens>;
  /**
   * Records that the server no longer accepts the tokens, and makes the error.
   */
  end(cause?: unknown): Promise<Error>;
  /**
   * Makes the error for tokens that have expired by this server's clock.
   * Undefined if the issuer still accepts them, because this clock may be
   * ahead.
   */
  expired(tokens: UpstreamTokens): Promise<Error | undefined>;
  /** Makes the error for tokens whose record is gone. */
  gone(): Error;
  /** Makes the error for a server that does not respond. */
  unavailable(cause?: unknown): Error;
  /**
   * Discards new tokens that cannot be stored, because their record is gone or
   * belongs to another account now.
   */
  discard?(tokens: UpstreamTokens): Promise<unknown>;
}

export function parseTokens(
  { tokens }: Pick<StoredTokens, "tokens">,
): UpstreamTokens {
  return JSON.parse(tokens);
}

export interface RefreshOptions {
  /**
   * An access token that the API has refused, so that it is refreshed even
   * before it expires.
   */
  rejected?: string;
  /** Further writes in the commit that stores the new tokens. */
  extraWrites?: Write;
}

/** Valid tokens, and the extra writes if they were committed with them. */
interface RefreshResult {
  tokens: UpstreamTokens;
  written?: Write;
}

const STORE_PAUSE_MILLISECONDS = 200;

/**
 * The maximum time after the start of a refresh for which closing the server
 * waits.
 */
const CLOSE_MILLISECONDS = 30_000;

/** Tokens that cannot be refreshed now; they may still be valid. */
class NotRefreshed extends Error {}

export interface LeasedRefreshOptions {
  clock: Clock;
  /** Runs work in the background. Closing the server waits for it. */
  background(work: () => Promise<void>): unknown;
  /** The seconds for which a request waits for a refresh. */
  waitSeconds?: number;
  /** The minimum time between a failed refresh and the next one, in seconds. */
  pauseSeconds?: number;
}

/** Makes the functions that refresh the tokens in a store. */
export function leasedRefresh<F extends StoredTokens>(
  store: LeasedTokenStore<F>,
  { clock, background, waitSeconds = REFRESH_WAIT_SECONDS, pauseSeconds = 0 }:
    LeasedRefreshOptions,
) {
  const refreshing = new Map<string, Promise<RefreshResult>>();
  const failures = new RefreshFailures(pauseSeconds);

  function isAlive({ expiresAt = Infinity }: UpstreamTokens): boolean {
    return expiresAt > now(clock);
  }

  /** True if tokens need no refresh yet. */
  function isUsable(tokens: UpstreamTokens, rejected?: string): boolean {
    const { expiresAt = Infinity } = tokens;
    const { refreshAt = expiresAt - UPSTREAM_MARGIN_SECONDS } = tokens;
    return tokens.accessToken !== rejected && refreshAt > now(clock);
  }

  /**
   * Returns valid tokens: the given ones, or refreshed ones. If the refresh
   * fails for now, the given tokens are used until they expire.
   */
  async function valid(
    issuer: TokenIssuer,
    found: F,
    options: RefreshOptions = {},
  ): Promise<RefreshResult> {
    const tokens = parseTokens(found);
    if (isUsable(tokens, options.rejected)) return { tokens };
    try {
      return await refreshShared(issuer, found, options);
    } catch (error) {
      if (!(error instanceof NotRefreshed)) throw error;
      const isGood = tokens.accessToken !== options.rejected && isAlive(tokens);
      if (isGood) return { tokens };
      throw issuer.unavailable(error.cause);
    }
  }

  /**
   * Refreshes tokens. Simultaneous calls in this process share one refresh.
   *
   * @throws {NotRefreshed}
   */
  async function refreshShared(
    issuer: TokenIssuer,
    found: F,
    options: RefreshOptions,
  ): Promise<RefreshResult> {
    const { id } = found;
    const failure = failures.find(id, found.tokens);
    if (failure) throw new NotRefreshed(undefined, failure);
    let refresh = refreshing.get(id);
    if (!refresh) {
      refresh = refreshOnce(issuer, found, options).finally(() => {
        refreshing.delete(id);
        failures.endWait(id);
      });
      refreshing.set(id, refresh);
    }
    return await wait(refresh, found);
  }

  async function refreshOnce(
    issuer: TokenIssuer,
    found: F,
    { rejected, extraWrites }: RefreshOptions,
  ): Promise<RefreshResult> {
    for (;;) {
      const tokens = parseTokens(found);
      if (isUsable(tokens, rejected)) return { tokens };
      if (tokens.refreshToken === undefined) {
        if (tokens.accessToken === rejected) throw await issuer.end();
        // Without a refresh token, the access token is used until it expires.
        const expired = isAlive(tokens)
          ? undefined
          : await issuer.expired(tokens);
        if (expired) throw expired;
        return { tokens };
      }
      const turn = takeTurn(issuer, found, tokens.refreshToken, extraWrites);
      background(async () => void await within(CLOSE_MILLISECONDS, turn));
      const taken = await turn;
      if (taken?.refreshed) return taken.refreshed;
      if (!taken) {
        await store.waitForLease(
          found,
          // A little longer than a lease, so that the lease of a dead
          // process has expired.
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

  /** Refreshes tokens; undefined if another process has the lease. */
  async function takeTurn(
    issuer: TokenIssuer,
    found: F,
    refreshToken: string,
    extraWrites?: Write,
  ): Promise<{ refreshed?: RefreshResult } | undefined> {
    const leased = await store.lease(found);
    if (!leased) return undefined;
    return {
      refreshed: await refreshLeased(issuer, leased, refreshToken, extraWrites),
    };
  }

  async function refreshLeased(
    issuer: TokenIssuer,
    leased: F,
    refreshToken: string,
    extraWrites?: Write,
  ): Promise<RefreshResult | undefined> {
    let refreshed: UpstreamTokens;
    try {
      refreshed = await issuer.refresh(refreshToken, parseTokens(leased));
    } catch (error) {
      if (isFinal(error)) {
        if (await isReplaced(leased)) return undefined;
        throw await issuer.end(error);
      }
      await release(leased);
      if (!(error instanceof UpstreamError)) throw error;
      failures.note(leased.id, leased.tokens, error);
      throw new NotRefreshed(undefined, { cause: error });
    }
    // A server that does not rotate refresh tokens sends none (RFC 6749 §6).
    // The `id_token` is stored, too: another process that waits for this
    // refresh may need it to identify the person.
    const tokens = { ...refreshed };
    tokens.refreshToken ??= refreshToken;
    return await keep(issuer, leased, tokens, extraWrites);
  }

  /**
   * Ends a lease, so that no one waits until it expires. If the database is
   * unreachable, retries in the background.
   */
  async function release(leased: F): Promise<void> {
    const again = () =>
      untilReachable(() => store.release(leased), {
        forMilliseconds: CLOSE_MILLISECONDS,
      });
    await store.release(leased).catch(() => background(again));
  }

  /**
   * Stores the new tokens in place of the leased ones. Retries until it works
   * or the time is up, because the server may have revoked the old ones. Until
   * then, only this promise has the new tokens. Undefined if the record is gone
   * or has other tokens.
   * @param extraWrites are written only by the first try, because their checks
   * may fail; the result says if they were written
   */
  async function keep(
    issuer: TokenIssuer,
    leased: F,
    tokens: UpstreamTokens,
    extraWrites?: Write,
  ): Promise<RefreshResult | undefined> {
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
        // Retry if another process has leased the same old tokens: those here
        // are newer.
        if (again?.tokens !== leased.tokens) return undefined;
        current = again;
      } catch (error) {
        if (performance.now() >= endMilliseconds) throw error;
        await pause(STORE_PAUSE_MILLISECONDS);
      }
    }
  }

  /**
   * Waits for a refresh, but no longer than a client would. The refresh itself
   * continues.
   */
  function wait<T>(refresh: Promise<T>, { id, tokens }: F): Promise<T> {
    return within(waitSeconds * 1000, refresh, () => {
      failures.note(id, tokens);
      throw new NotRefreshed();
    });
  }

  /**
   * True if the lease has expired and another process has replaced the tokens,
   * so that the refresh failed with an old refresh token.
   */
  async function isReplaced(leased: F): Promise<boolean> {
    const found = await store.find(leased);
    return found !== undefined && found.tokens !== leased.tokens;
  }

  return { valid, isAlive, isUsable };
}

/**
 * True if the server's error says that the tokens can never be refreshed again.
 */
function isFinal(error: unknown): boolean {
  return error instanceof UpstreamError &&
    (error.kind === "dead" || error.kind === "denied");
}
