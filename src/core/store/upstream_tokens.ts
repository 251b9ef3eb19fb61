/**
 * The provider's tokens of a grant, encrypted. One process at a time refreshes
 * them.
 * @module
 */
import { seal, unseal } from "../crypto/crypto.ts";
import {
  type Database,
  type Entry,
  type Found,
  isFound,
  type Write,
} from "../kv/database.ts";
import { upstreamKey } from "../kv/keys.ts";
import { type Leasable, recordLeases } from "../kv/record_leases.ts";
import { REFRESH_LEASE_SECONDS } from "../oauth/lifetimes.ts";

export interface UpstreamRecord extends Leasable {
  /** The tokens, encrypted with the grant's data key. */
  sealed: string;
}

/** Tokens as they were read. A change fails if the record has changed since. */
export interface FoundTokens extends Found<UpstreamRecord> {
  /** The id of the grant. */
  id: string;
  dataKey: Uint8Array;
  /** The decrypted tokens as JSON. */
  tokens: string;
}

export type UpstreamTokenStore = ReturnType<typeof upstreamTokenStore>;

export function upstreamTokenStore(database: Database) {
  return {
    ...recordLeases(database, REFRESH_LEASE_SECONDS),

    /**
     * Finds the tokens of a grant; undefined if the grant has ended.
     * @param read the record, if it was just read
     * @throws {Error} if the data key belongs to another grant
     */
    async find(
      { id, dataKey }: Pick<FoundTokens, "id" | "dataKey">,
      read?: Entry<UpstreamRecord>,
    ): Promise<FoundTokens | undefined> {
      const entry = read ?? await database.get<UpstreamRecord>(upstreamKey(id));
      if (!isFound(entry)) return undefined;
      const tokens = await unseal(dataKey, entry.value.sealed, id);
      return { ...entry, id, dataKey, tokens };
    },

    /**
     * Replaces the tokens. Returns false if the grant has ended or the lease
     * has lapsed.
     *
     * @param extraWrites checks and writes of the same commit
     */
    async replace(
      leased: FoundTokens,
      tokens: string,
      extraWrites: Write = () => {},
    ): Promise<boolean> {
      const { key, value: { expiresAt }, id, dataKey } = leased;
      const sealed = await seal(dataKey, tokens, id);
      return await database.commit((transaction) => {
        extraWrites(transaction);
        transaction.check(leased).set(key, { sealed, expiresAt });
      }) !== undefined;
    },
  };
}
