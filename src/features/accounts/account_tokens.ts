/**
 * The tokens of people's accounts, refreshed by one process at a time.
 *
 * @module
 */
import { parseGrantedScopes } from "../../core/oauth/given_scopes.ts";
import type { AccountVault } from "./account_vault.ts";
import type { AccountRecord } from "./accounts.ts";
import { isSameAccount } from "./begun_account.ts";
import { type Database, type Found, isFound } from "../../core/kv/database.ts";
import { recordLeases } from "../../core/kv/record_leases.ts";
import { REFRESH_LEASE_SECONDS } from "../../core/oauth/lifetimes.ts";

/**
 * The tokens from one read. They can be replaced only while they are stored
 * unchanged.
 */
export interface AccountTokens extends Found<AccountRecord> {
  /** The record's database key and the time of connection, as one string. */
  id: string;
  /** The decrypted tokens, as JSON. */
  tokens: string;
}

/** True if a record still has the tokens of the account in `before`. */
function isStill(record: AccountRecord, before: AccountRecord): boolean {
  const { label, accountId, oauth: { confirmation } = {} } = before;
  if (!record.oauth) return false;
  const isNamed = (label ?? accountId) !== undefined;
  return isNamed && isSameAccount(record, before) ||
    confirmation !== undefined && confirmation === record.oauth.confirmation;
}

export type AccountTokenStore = ReturnType<typeof accountTokenStore>;

export function accountTokenStore(database: Database, vault: AccountVault) {
  const leases = recordLeases(database, REFRESH_LEASE_SECONDS);

  /**
   * Finds the current tokens. Undefined if the account is gone or was replaced,
   * or if this process lacks the key for new tokens.
   */
  async function find(
    { key, value, tokens: before }:
      & Found<AccountRecord>
      & Partial<Pick<AccountTokens, "tokens">>,
  ): Promise<AccountTokens | undefined> {
    const entry = await database.get<AccountRecord>(key);
    // A call continues only with the account that it began with.
    if (!isFound(entry) || !isStill(entry.value, value)) return undefined;
    const tokens = await vault.open(entry);
    if (tokens !== undefined) return known(entry, tokens);
    // New tokens would have ended the lease, so these are the same tokens,
    // encrypted again.
    const { leaseUntil } = value;
    const isSame = leaseUntil !== undefined &&
      leaseUntil === entry.value.leaseUntil;
    return isSame && before !== undefined ? known(entry, before) : undefined;
  }

  function known(found: Found<AccountRecord>, tokens: string): AccountTokens {
    const id = JSON.stringify([found.key, found.value.createdAt]);
    return { ...found, id, tokens };
  }

  return {
    ...leases,
    find,
    known,
    async lease(found: AccountTokens): Promise<AccountTokens | undefined> {
      // Checked before the refresh: if encryption fails, new tokens cannot be
      // stored, and the old ones are lost.
      await vault.checkSeals();
      return await leases.lease(found);
    },
    replace(leased: AccountTokens, tokens: string): Promise<boolean> {
      const given = parseGrantedScopes(JSON.parse(tokens));
      return vault.replace(leased, tokens, given && { given });
    },

    /** Queues the revocation of new tokens whose account is gone. */
    discard: (found: AccountTokens, tokens: string) =>
      vault.revoke(found, tokens),

    /**
     * Records that the service refuses the tokens, unless new ones were stored.
     */
    async end(found: AccountTokens): Promise<void> {
      const { tokens } = found;
      for (;;) {
        const now = await find(found);
        if (now?.tokens !== tokens) return;
        const refusedAt = database.now();
        if (await vault.replace(now, tokens, { refusedAt })) return;
      }
    },
  };
}
