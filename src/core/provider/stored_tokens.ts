/**
 * Stored tokens of another server: what their refresh needs of the store, and
 * of that server.
 *
 * @module
 */
import type { Write } from "../kv/transaction.ts";
import type { UpstreamTokens } from "./provider.ts";

/** Tokens as they were read from a store. */
export interface StoredTokens {
  /** The id of the record. */
  readonly id: string;
  /** The unsealed tokens as JSON. */
  tokens: string;
}

/** The store of the tokens. */
export interface TokenStore<F extends StoredTokens> {
  /** Finds the tokens as they are now; undefined if the record is gone. */
  find(found: F): Promise<F | undefined>;
  /**
   * Takes the lease to refresh the tokens; undefined if another process has it.
   */
  lease(found: F): Promise<F | undefined>;
  release(leased: F): Promise<void>;
  /** Replaces the tokens. Returns false if the record has changed since. */
  replace(leased: F, tokens: string, extraWrites?: Write): Promise<boolean>;
  /** Waits until the lease has ended, or its process may have died. */
  waitForLease(found: F, signal: AbortSignal): Promise<void>;
}

/** The server that issued the tokens, and the errors of their refresh. */
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
   * Makes the error for tokens that have expired by our clock, which may be
   * ahead. Returns undefined if the server still accepts them.
   */
  expired(tokens: UpstreamTokens): Promise<Error | undefined>;
  /** Makes the error if the record of the tokens is gone. */
  gone(): Error;
  /** Makes the error if the server does not respond. */
  unavailable(cause?: unknown): Error;
  /**
   * Disposes of new tokens whose record is gone, or is of another account now.
   */
  discard?(tokens: UpstreamTokens): Promise<unknown>;
}

/** Parses stored tokens. */
export function parseTokens(
  { tokens }: Pick<StoredTokens, "tokens">,
): UpstreamTokens {
  return JSON.parse(tokens);
}
