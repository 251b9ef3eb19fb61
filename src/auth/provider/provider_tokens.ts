/**
 * A grant's tokens at the provider, as endpoints and tools use them.
 *
 * @module
 */
import type { Identity, Upstream } from "../../caller.ts";
import { REFRESH_WAIT_SECONDS } from "../rules/lifetimes.ts";
import type { Grant, KnownPerson } from "../rules/grant.ts";
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
import type { UpstreamTokens } from "./provider.ts";
import { died, parseTokens, providerRefresh } from "./provider_refresh.ts";
import type { SignInProvider, SignInProviders } from "./sign_in_providers.ts";
import { askProvider, identifyAgain } from "./unavailable.ts";

/** Opens the sealed tokens of one grant. */
export interface GrantKey {
  grant: Pick<Grant, "id"> & KnownPerson;
  dataKey(): Promise<Uint8Array>;
  /** The tokens, if they were read together with their key. */
  sealed?: Entry<UpstreamRecord>;
}

export type ProviderTokens = ReturnType<typeof providerTokens>;

/** The stores and the clock behind tokens. */
interface TokenSources {
  grants: Pick<GrantStore, "end">;
  upstreamTokens: UpstreamTokenStore;
  clock: Clock;
  /** The seconds for which a request waits for a refresh. */
  waitSeconds?: number;
}

/**
 * Connects each grant to its own provider. The tokens of a provider that is not
 * listed are not opened: they are as good as dead.
 */
export function providerTokens(
  { providers, ...sources }: TokenSources & {
    providers: Pick<SignInProviders, "all" | "of">;
  },
) {
  const tokens = new Map(
    providers.all.map((it) => [it, tokensAt(it, sources)] as const),
  );

  /** Finds the tokens of a grant's provider. */
  function of({ grant }: GrantKey): TokensAt | undefined {
    const provider = providers.of(grant);
    return provider && tokens.get(provider);
  }

  /** Finds them. @throws {ChallengeError} if the provider is not listed */
  function liveOf(key: GrantKey): TokensAt {
    const found = of(key);
    if (found) return found;
    throw died();
  }

  return {
    /** See {@linkcode TokensAt}. */
    identify: async (key: GrantKey) => await liveOf(key).identify(key),

    /** Makes the API for tools. */
    upstream: (key: GrantKey): Upstream => ({
      token: async () => await liveOf(key).upstream(key).token(),
      fetch: async (input, init) =>
        await liveOf(key).upstream(key).fetch(input, init),
    }),

    /** See {@linkcode TokensAt}. */
    refreshIfDue: async <T>(key: GrantKey, commit: Commit<T>) =>
      await (of(key)?.refreshIfDue(key, commit) ?? commit()),

    /** See {@linkcode TokensAt}. */
    revocation: async (key: GrantKey): Promise<() => Promise<void>> =>
      await of(key)?.revocation(key) ?? (() => Promise.resolve()),
  };
}

/** Commits a change, with another; undefined: nothing was committed. */
type Commit<T> = (also?: Write) => Promise<T | undefined>;

/** The tokens of the grants of one provider. */
type TokensAt = ReturnType<typeof tokensAt>;

function tokensAt(
  { provider }: SignInProvider,
  { grants, upstreamTokens, clock, waitSeconds = REFRESH_WAIT_SECONDS }:
    TokenSources,
) {
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
      commit: Commit<T>,
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
