/**
 * The tokens of people's accounts. One process at a time refreshes them.
 *
 * @module
 */
import { parseGiven } from "../../core/oauth/given_scopes.ts";
import type { AccountVault } from "./account_vault.ts";
import type { AccountRecord } from "./accounts.ts";
import { isSameAccount } from "./begun_account.ts";
import { type Database, type Found, isFound } from "../../core/kv/database.ts";
import { recordLeases } from "../../core/kv/record_leases.ts";
import { REFRESH_LEASE_SECONDS } from "../../core/oauth/lifetimes.ts";

/** Tokens as they were read. A change fails if they were changed since. */
export interface FoundAccount extends Found<AccountRecord> {
  /**
   * The database key of the record, and the time at which the account was
   * connected, in one text.
   */
  id: string;
  /** The unsealed tokens, as JSON. */
  tokens: string;
}

/** True if a record still has tokens of the same account as `before`. */
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
   * Finds the present tokens; undefined if the account is gone or replaced by
   * another one, or if another process has sealed new tokens with a key that
   * this process does not have.
   */
  async function find(
    { key, value, tokens: before }:
      & Found<AccountRecord>
      & Partial<Pick<FoundAccount, "tokens">>,
  ): Promise<FoundAccount | undefined> {
    const entry = await database.get<AccountRecord>(key);
    // A call goes on only with the account that it has begun with.
    if (!isFound(entry) || !isStill(entry.value, value)) return undefined;
    const tokens = await vault.open(entry);
    if (tokens !== undefined) return known(entry, tokens);
    // New tokens would have ended the lease: the same tokens were only sealed
    // anew.
    const { leaseUntil } = value;
    const isSame = leaseUntil !== undefined &&
      leaseUntil === entry.value.leaseUntil;
    return isSame && before !== undefined ? known(entry, before) : undefined;
  }

  /** Makes a {@linkcode FoundAccount} from a record and its unsealed tokens. */
  function known(found: Found<AccountRecord>, tokens: string): FoundAccount {
    const id = JSON.stringify([found.key, found.value.createdAt]);
    return { ...found, id, tokens };
  }

  return {
    ...leases,
    find,
    known,
    async lease(found: FoundAccount): Promise<FoundAccount | undefined> {
      // If nothing can be sealed, new tokens could not be stored, and the old
      // ones would be lost.
      await vault.checkSeals();
      return await leases.lease(found);
    },
    replace(leased: FoundAccount, tokens: string): Promise<boolean> {
      const given = parseGiven(JSON.parse(tokens).scope);
      return vault.replace(leased, tokens, given && { given });
    },

    /** Queues the revocation of new tokens whose account is gone. */
    discard: (found: FoundAccount, tokens: string) =>
      vault.revoke(found, tokens),

    /**
     * Records that the service refuses the tokens, unless other tokens were
     * stored since.
     */
    async end(found: FoundAccount): Promise<void> {
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
