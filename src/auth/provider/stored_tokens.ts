/**
 * Tokens in a store, as their refresh needs them.
 *
 * @module
 */
import type { Write } from "../../store/transaction.ts";
import type { UpstreamTokens } from "./provider.ts";

/** Tokens as they were read from a store. */
export interface StoredTokens {
  /** Names their record. */
  readonly id: string;
  /** The unsealed text. */
  tokens: string;
  /** Names the account of the tokens, where the record may get another. */
  account?: string;
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

/** Parses tokens that were stored. */
export function parseTokens(
  { tokens }: Pick<StoredTokens, "tokens">,
): UpstreamTokens {
  return JSON.parse(tokens);
}
