/**
 * The provider's tokens of a grant: sealed, and refreshed by one process at a
 * time.
 *
 * @module
 */
import { REFRESH_LEASE_SECONDS } from "../oauth/lifetimes.ts";
import { seal, unseal } from "../crypto/seal.ts";
import {
  type Database,
  type Entry,
  type Expiring,
  type Found,
  isFound,
} from "./database.ts";
import { upstreamKey } from "./keys.ts";
import { isLeased } from "./leases.ts";
import type { Write } from "./transaction.ts";

export interface UpstreamRecord extends Expiring {
  /** The tokens, sealed with the grant's data key. */
  sealed: string;
  /** The time at which the refresh lease expires, in epoch seconds. */
  leaseUntil?: number;
}

/** Tokens as they were read. A change fails if there was another since. */
export interface FoundTokens extends Found<UpstreamRecord> {
  grantId: string;
  dataKey: Uint8Array;
  /** The unsealed text. */
  tokens: string;
}

/** True while a process has the lease to refresh them. */
function isRefreshing(record: UpstreamRecord, now: number): boolean {
  return isLeased(record, { now, seconds: REFRESH_LEASE_SECONDS });
}

export type UpstreamTokenStore = ReturnType<typeof upstreamTokenStore>;

export function upstreamTokenStore(database: Database) {
  return {
    /**
     * Finds the tokens of a grant; undefined if the grant has ended.
     *
     * @param read the record, if it was just read
     * @throws {Error} when the data key is not the grant's
     */
    async find(
      grantId: string,
      dataKey: Uint8Array,
      read?: Entry<UpstreamRecord>,
    ): Promise<FoundTokens | undefined> {
      const entry = read ??
        await database.get<UpstreamRecord>(upstreamKey(grantId));
      if (!isFound(entry)) return undefined;
      const tokens = await unseal(dataKey, entry.value.sealed, grantId);
      return { ...entry, grantId, dataKey, tokens };
    },

    /**
     * Takes the lease to refresh the tokens. Returns undefined if another
     * process has it.
     */
    async lease(found: FoundTokens): Promise<FoundTokens | undefined> {
      const time = database.now();
      const isTaken = isRefreshing(found.value, time);
      // A lease that was given up before its holder began is void.
      if (isTaken && !await database.isGivenUp(found)) return undefined;
      const leaseUntil = time + REFRESH_LEASE_SECONDS;
      return await database.replace(found, { ...found.value, leaseUntil });
    },

    /** Frees the lease without new tokens. */
    async release(leased: FoundTokens): Promise<void> {
      await database.replace(leased, {
        ...leased.value,
        leaseUntil: undefined,
      });
    },

    /**
     * Replaces the tokens. Returns false if the grant has ended or the lease
     * has expired.
     *
     * @param extraWrites checks and writes of the same commit
     */
    async replace(
      leased: FoundTokens,
      tokens: string,
      extraWrites: Write = () => {},
    ): Promise<boolean> {
      const { key, value: { expiresAt }, grantId, dataKey } = leased;
      const sealed = await seal(dataKey, tokens, grantId);
      return await database.commit((transaction) => {
        extraWrites(transaction);
        transaction.check(leased).set(key, { sealed, expiresAt });
      }) !== undefined;
    },

    /** Waits until the holder of the lease is done, or its lease is over. */
    async waitForRefresh(grantId: string, signal: AbortSignal): Promise<void> {
      await database.waitFor<UpstreamRecord>(
        upstreamKey(grantId),
        (record) => !record || !isRefreshing(record, database.now()),
        signal,
      );
    },
  };
}
