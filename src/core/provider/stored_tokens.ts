/**
 * Stored tokens of another server: the parts of the store, and of that server,
 * that their refresh needs.
 *
 * @module
 */
import type { Write } from "../kv/transaction.ts";
import type { UpstreamTokens } from "./provider.ts";

/** Tokens as they were read from a store. */
export interface StoredTokens {
  /** Names their record. */
  readonly id: string;
  /** The unsealed text. */
  tokens: string;
}

/** The store of such tokens. */
export interface TokenStore<F extends StoredTokens> {
  /** Finds the tokens as they are now; undefined if they are gone. */
  find(found: F): Promise<F | undefined>;
  /** Takes the lease to refresh them; undefined if another process has it. */
  lease(found: F): Promise<F | undefined>;
  release(leased: F): Promise<void>;
  /** Replaces them. Returns false if there was another change since. */
  replace(leased: F, tokens: string, extraWrites?: Write): Promise<boolean>;
  /** Waits until the holder of the lease is done, or may have died. */
  waitForRefresh(found: F, signal: AbortSignal): Promise<void>;
}

/** The server that issued some tokens, and the errors of their refresh. */
export interface TokenIssuer {
  /** @throws {UpstreamError} */
  refresh(
    refreshToken: string,
    tokens: UpstreamTokens,
  ): Promise<UpstreamTokens>;
  /** Notes that the tokens are dead, and makes the error that says so. */
  end(cause?: unknown): Promise<Error>;
  /**
   * Makes the error for tokens that have expired by our clock, which may be
   * ahead; undefined if they are good.
   */
  expired(tokens: UpstreamTokens): Promise<Error | undefined>;
  /** Makes the error for tokens whose record is gone. */
  gone(): Error;
  /** Makes the error while the server does not answer. */
  unavailable(cause?: unknown): Error;
  /** Disposes of new tokens whose record is gone, or has another account. */
  discard?(tokens: UpstreamTokens): Promise<unknown>;
}

/** Parses tokens that were stored. */
export function parseTokens(
  { tokens }: Pick<StoredTokens, "tokens">,
): UpstreamTokens {
  return JSON.parse(tokens);
}
