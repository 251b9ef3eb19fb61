/**
 * A grant's tokens at the provider, as endpoints and tools use them.
 *
 * @module
 */
import type { Identity, Upstream } from "../../caller.ts";
import { REFRESH_WAIT_SECONDS } from "../rules/lifetimes.ts";
import { type Grant, isPersonOf, type KnownPerson } from "../rules/grant.ts";
import type { GrantStore } from "../../store/grants.ts";
import type { Clock } from "../../clock.ts";
import type { Entry } from "../../store/database.ts";
import type { Write } from "../../store/transaction.ts";
import type {
  FoundTokens,
  UpstreamRecord,
  UpstreamTokenStore,
} from "../../store/upstream_tokens.ts";
import { api } from "./api.ts";
import type { Provider, UpstreamTokens } from "./provider.ts";
import { died, parseTokens, providerRefresh } from "./provider_refresh.ts";
import { askProvider, identifyAgain } from "./unavailable.ts";

/** Opens the sealed tokens of one grant. */
export interface GrantKey {
  grant: Pick<Grant, "id"> & KnownPerson;
  dataKey(): Promise<Uint8Array>;
  /** The tokens, if they were read together with their key. */
  sealed?: Entry<UpstreamRecord>;
}

export type ProviderTokens = ReturnType<typeof providerTokens>;

/**
 * Connects grants to the provider. The tokens of another provider's grants are
 * not opened: they are as good as dead.
 */
export function providerTokens({
  provider,
  providerId,
  grants,
  upstreamTokens,
  clock,
  waitSeconds = REFRESH_WAIT_SECONDS,
}: {
  provider: Provider;
  providerId: string;
  grants: Pick<GrantStore, "end">;
  upstreamTokens: UpstreamTokenStore;
  clock: Clock;
  /** The seconds for which a request waits for a refresh. */
  waitSeconds?: number;
}) {
  const { valid, isAlive, isGood, close } = providerRefresh({
    provider,
    grants,
    upstreamTokens,
    clock,
    waitSeconds,
  });

  async function find(
    { grant, dataKey, sealed }: GrantKey,
  ): Promise<FoundTokens | undefined> {
    if (!isPersonOf(grant, providerId)) return undefined;
    return await upstreamTokens.find(grant.id, await dataKey(), sealed);
  }

  async function findLive(key: GrantKey): Promise<FoundTokens> {
    const found = await find(key);
    if (found) return found;
    throw died();
  }

  async function renew(
    key: GrantKey,
    rejected: string,
  ): Promise<UpstreamTokens | undefined> {
    const found = await findLive(key);
    const current = parseTokens(found);
    if (isGood(current, rejected)) return current;
    // Undefined: it does not tell.
    const isAlive = await askProvider(
      provider,
      async () => await provider.isAlive?.(rejected),
    );
    if (isAlive) return undefined;
    if (current.refreshToken !== undefined) {
      return await valid(found, { rejected });
    }
    // If the provider cannot tell, the grant does not end.
    if (isAlive === undefined) return undefined;
    throw await close(key.grant.id);
  }

  /**
   * Identifies the person as of now, by tokens that were refreshed for this if
   * possible; undefined if the provider cannot be asked any more.
   *
   * @throws as `refreshIfDue`
   */
  async function identify(key: GrantKey): Promise<Identity | undefined> {
    const found = await findLive(key);
    const current = parseTokens(found);
    const fresh = current.refreshToken === undefined
      // An old id_token does not tell the identity of today.
      ? { ...current, idToken: undefined }
      : await valid(found, { rejected: current.accessToken, asks: true });
    if (!provider.identify || !isAlive(fresh)) return undefined;
    const { grant: { id, identity } } = key;
    return await identifyAgain(
      provider,
      fresh,
      identity,
      (cause) => close(id, cause),
    );
  }

  return {
    identify,

    /** Makes the API for tools. */
    upstream: (key: GrantKey): Upstream =>
      api(provider, {
        tokens: async () => await valid(await findLive(key)),
        renew: (rejected) => renew(key, rejected),
      }),

    /**
     * Refreshes tokens that would soon expire, if they can be refreshed: a grant
     * may outlive a provider token that cannot. Then it commits the change that
     * depends on it and gives the result; undefined: nothing was committed.
     *
     * @param commit stores new tokens together with its own change, by `also`; if
     * it commits nothing, they are stored alone
     * @throws {ChallengeError} when the tokens are dead; the grant has then ended
     * @throws {HttpError} 503 when the provider does not answer
     */
    async refreshIfDue<T>(
      key: GrantKey,
      commit: (also?: Write) => Promise<T | undefined>,
    ): Promise<T | undefined> {
      const found = await find(key);
      if (!found || parseTokens(found).refreshToken === undefined) {
        return await commit();
      }
      let committing: ReturnType<typeof commit> | undefined;
      let isWaiting = true;
      try {
        await valid(found, {
          commit: async (also) => {
            // A request that stopped waiting has told its client to try again
            // already.
            if (!isWaiting) return false;
            committing = commit(also);
            return await committing.catch(() => undefined) !== undefined;
          },
        });
      } finally {
        isWaiting = false;
      }
      return await (committing ?? commit());
    },

    /**
     * Reads a grant's tokens while that is possible, and gives a function that
     * revokes them at the provider.
     */
    async revocation(key: GrantKey): Promise<() => Promise<void>> {
      if (!provider.revoke) return () => Promise.resolve();
      const found = await find(key);
      return async () => {
        if (found) await provider.revoke!(parseTokens(found));
      };
    },
  };
}
