/**
 * A grant's tokens at the provider, as endpoints and tools use them.
 *
 * @module
 */
import type { Identity, Upstream } from "../../caller.ts";
import type { Grant, KnownPerson } from "../rules/grant.ts";
import type { Entry } from "../../store/database.ts";
import type { Write } from "../../store/transaction.ts";
import type {
  FoundTokens,
  UpstreamRecord,
} from "../../store/upstream_tokens.ts";
import { api } from "./api.ts";
import type { Provider, UpstreamTokens } from "./provider.ts";
import { died, parseTokens, providerRefresh } from "./provider_refresh.ts";
import type { SignInProviders } from "./sign_in_providers.ts";
import { askProvider, identifyAgain } from "./unavailable.ts";

/** Opens the sealed tokens of one grant. */
export interface GrantKey {
  grant: Pick<Grant, "id"> & KnownPerson;
  dataKey(): Promise<Uint8Array>;
  /** The tokens, if they were read together with their key. */
  sealed?: Entry<UpstreamRecord>;
}

export type ProviderTokens = ReturnType<typeof providerTokens>;

/** Commits a change, with another; undefined: nothing was committed. */
type Commit<T> = (also?: Write) => Promise<T | undefined>;

/**
 * Makes the use of grants' tokens, each at its own provider. The tokens of a
 * provider that is not listed are not opened: they are as good as dead.
 */
export function providerTokens(
  { providers, ...options }: Parameters<typeof providerRefresh>[0] & {
    providers: Pick<SignInProviders, "of">;
  },
) {
  const { upstreamTokens } = options;
  const { valid, isAlive, isGood, close } = providerRefresh(options);

  async function find(
    { grant, dataKey, sealed }: GrantKey,
  ): Promise<FoundTokens | undefined> {
    return await upstreamTokens.find(grant.id, await dataKey(), sealed);
  }

  /** Finds the provider of a grant. @throws {ChallengeError} if there is none */
  function providerOf({ grant }: GrantKey): Provider {
    const found = providers.of(grant);
    if (found) return found.provider;
    throw died();
  }

  async function findLive(key: GrantKey): Promise<FoundTokens> {
    const found = await find(key);
    if (found) return found;
    throw died();
  }

  async function renew(
    provider: Provider,
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
      return await valid(provider, found, { rejected });
    }
    // If the provider cannot tell, the grant does not end.
    if (isAlive === undefined) return undefined;
    throw await close(key.grant.id);
  }

  return {
    /**
     * Identifies the person as of now, by tokens that were refreshed for this if
     * possible; undefined if the provider cannot be asked any more.
     */
    async identify(key: GrantKey): Promise<Identity | undefined> {
      const provider = providerOf(key);
      const found = await findLive(key);
      const current = parseTokens(found);
      const rejected = current.accessToken;
      const fresh = current.refreshToken === undefined
        // An old id_token does not tell the identity of today.
        ? { ...current, idToken: undefined }
        : await valid(provider, found, { rejected, asks: true });
      if (!provider.identify || !isAlive(fresh)) return undefined;
      const { grant: { id, identity } } = key;
      return await identifyAgain(
        provider,
        fresh,
        identity,
        (cause) => close(id, cause),
      );
    },

    upstream(key: GrantKey): Upstream {
      // Only its use fails without a provider.
      const live = () => {
        const provider = providerOf(key);
        return api(provider, {
          tokens: async () => await valid(provider, await findLive(key)),
          renew: (rejected) => renew(provider, key, rejected),
        });
      };
      return {
        token: async () => await live().token(),
        fetch: async (input, init) => await live().fetch(input, init),
      };
    },

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
      commit: Commit<T>,
    ): Promise<T | undefined> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider && await find(key);
      if (!found || parseTokens(found).refreshToken === undefined) {
        return await commit();
      }
      let committing: ReturnType<typeof commit> | undefined;
      let isWaiting = true;
      try {
        await valid(provider, found, {
          commit: async (also) => {
            // A request that stopped waiting has told its client to retry.
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

    /** Reads a grant's tokens, and gives a function that revokes them there. */
    async revocation(key: GrantKey): Promise<() => Promise<void>> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider?.revoke && await find(key);
      return async () => {
        if (found) await provider!.revoke!(parseTokens(found));
      };
    },
  };
}
