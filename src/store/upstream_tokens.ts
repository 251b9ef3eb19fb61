/**
 * The provider's tokens of a grant: sealed, and refreshed by one process at a
 * time.
 *
 * @module
 */
import { REFRESH_LEASE_SECONDS } from "../oauth/lifetimes.ts";
import { seal, unseal } from "../seal.ts";
import { upstreamKey } from "./keys.ts";
import { commit, expireIn, type Expiring, find, type Found } from "./kv.ts";
import { now } from "../clock.ts";
import { waitFor } from "./wait.ts";

/** What stands in the database. */
export interface UpstreamRecord extends Expiring {
  /** The tokens under the grant's data key. */
  sealed: string;
  /** Somebody asks the provider for new ones, until then at the latest. */
  leaseUntil?: number;
}

/** Tokens as they were read; whoever changes them first wins. */
export interface FoundTokens extends Found<UpstreamRecord> {
  grantId: string;
  dataKey: Uint8Array;
  /** The unsealed text. */
  tokens: string;
}

/** The provider's tokens in Deno KV. */
export interface UpstreamTokenStore {
  /**
   * The tokens of a grant; undefined when the grant has ended.
   *
   * @throws {Error} when the data key is not the grant's
   */
  find(
    grantId: string,
    dataKey: Uint8Array,
  ): Promise<FoundTokens | undefined>;
  /** Takes the right to refresh; undefined when somebody else has it. */
  lease(found: FoundTokens): Promise<FoundTokens | undefined>;
  /** Gives the right back without new tokens. */
  release(leased: FoundTokens): Promise<void>;
  /** Replaces the tokens; false when the grant ended or the lease had lapsed. */
  replace(leased: FoundTokens, tokens: string): Promise<boolean>;
  /** Waits until whoever refreshes has finished, or has had its time. */
  waitForRefresh(grantId: string, signal: AbortSignal): Promise<void>;
}

/** The provider's tokens in a database. */
export function upstreamTokenStore(kv: Deno.Kv): UpstreamTokenStore {
  async function read(
    grantId: string,
    dataKey: Uint8Array,
  ): Promise<FoundTokens | undefined> {
    const found = await find<UpstreamRecord>(kv, upstreamKey(grantId));
    if (!found) return undefined;
    const tokens = await unseal(dataKey, found.value.sealed, grantId);
    return { ...found, grantId, dataKey, tokens };
  }

  function change(
    { grantId, versionstamp }: FoundTokens,
    record: UpstreamRecord,
  ): Promise<boolean> {
    const key = upstreamKey(grantId);
    return commit(kv, (operation) =>
      operation.check({ key, versionstamp })
        .set(key, record, expireIn(record)));
  }

  return {
    find: read,

    async lease(found) {
      const { value, grantId, dataKey, tokens } = found;
      const time = now();
      if ((value.leaseUntil ?? 0) > time) return undefined;
      const leaseUntil = time + REFRESH_LEASE_SECONDS;
      if (!await change(found, { ...value, leaseUntil })) return undefined;
      const leased = await read(grantId, dataKey);
      // Somebody may have closed the grant or, after a very long pause,
      // refreshed in between.
      return leased?.tokens === tokens ? leased : undefined;
    },

    async release(leased) {
      await change(leased, { ...leased.value, leaseUntil: undefined });
    },

    async replace(leased, tokens) {
      const { value: { expiresAt }, grantId, dataKey } = leased;
      const sealed = await seal(dataKey, tokens, grantId);
      return await change(leased, { sealed, expiresAt });
    },

    async waitForRefresh(grantId, signal) {
      await waitFor<UpstreamRecord>(
        kv,
        upstreamKey(grantId),
        (record) => (record?.leaseUntil ?? 0) <= now(),
        signal,
      );
    },
  };
}
