/**
 * The interfaces for refreshing stored tokens of another server: the store, and
 * the server that issued the tokens.
 * @module
 */
import type { Write } from "../kv/transaction.ts";
import type { UpstreamTokens } from "./provider.ts";

export interface StoredTokens {
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
