/**
 * A grant's tokens at the provider, for the endpoints; and the provider's API
 * for tools: requests in the name of the caller, each with a valid access
 * token.
 *
 * @module
 */
import type { BoundedRequest, Identity, Upstream } from "../caller.ts";
import { ToolError } from "../../authoring/tool.ts";
import type { ServiceTokens } from "../token_exchange.ts";
import { HttpError } from "../errors.ts";
import {
  bounded,
  checkBound,
  type Held,
  MAX_TOOL_ANSWER_BYTES,
} from "../net/bounded_answer.ts";
import type { Grant, KnownPerson } from "../oauth/grant.ts";
import type { Entry, Write } from "../kv/database.ts";
import type { FoundTokens, UpstreamRecord } from "../store/upstream_tokens.ts";
import type { Provider, UpstreamTokens } from "./provider.ts";
import { addressAt, sendAs } from "./provider_api.ts";
import { providerRefresh, signInEnded } from "./provider_refresh.ts";
import { Renewals } from "./renewals.ts";
import type { SignInProviders } from "./sign_in_providers.ts";
import { parseTokens } from "./stored_tokens.ts";
import { tokenExchanges } from "./token_exchange.ts";
import { askProvider, identifyAgain } from "./unavailable.ts";

/** A grant, and the data key of its sealed tokens. */
export interface GrantKey {
  grant: Pick<Grant, "id"> & KnownPerson;
  dataKey(): Promise<Uint8Array>;
  /** The sealed tokens, if they were read already. */
  sealed?: Entry<UpstreamRecord>;
}

/** A JWT that a provider issued, with which a person calls this server. */
export interface PresentedToken {
  /** The id of the provider. */
  provider: string;
  accessToken: string;
}

export type ProviderTokens = ReturnType<typeof providerTokens>;

/**
 * Makes the functions that use grants' tokens at their providers. If a provider
 * is no longer configured, its tokens count as invalid.
 */
export function providerTokens(
  { providers, ...options }: Parameters<typeof providerRefresh>[0] & {
    providers: Pick<SignInProviders, "of">;
  },
) {
  const { upstreamTokens } = options;
  const { valid, isAlive, isUsable, endGrant } = providerRefresh(options);
  const exchangeOf = tokenExchanges();
  const renewals = new Renewals<UpstreamTokens>();

  async function find(
    { grant, dataKey, sealed }: GrantKey,
  ): Promise<FoundTokens | undefined> {
    return await upstreamTokens.find(
      { id: grant.id, dataKey: await dataKey() },
      sealed,
    );
  }

  /**
   * Finds the provider of a grant. @throws {ChallengeError} if it is not
   * configured
   */
  function providerOf(
    { grant }: { grant: Pick<KnownPerson, "provider"> },
  ): Provider {
    const found = providers.of(grant);
    if (found) return found.provider;
    throw signInEnded();
  }

  async function findLive(key: GrantKey): Promise<FoundTokens> {
    const found = await find(key);
    if (found) return found;
    throw signInEnded();
  }

  async function validOf(key: GrantKey): Promise<UpstreamTokens> {
    return (await valid(providerOf(key), await findLive(key))).tokens;
  }

  /**
   * Returns tokens in place of a rejected access token; undefined if the
   * provider still accepts it, or it cannot be replaced.
   */
  async function renew(
    provider: Provider,
    key: GrantKey,
    rejected: string,
  ): Promise<UpstreamTokens | undefined> {
    const found = await findLive(key);
    const current = parseTokens(found);
    if (isUsable(current, rejected)) return current;
    // Undefined if the provider does not say.
    const isAlive = await askProvider(
      provider,
      async () => await provider.isAlive?.(rejected),
    );
    if (isAlive) return undefined;
    const { id } = key.grant;
    const isKnown = isAlive !== undefined;
    if (current.refreshToken !== undefined) {
      const refresh = async () =>
        (await valid(provider, found, { rejected })).tokens;
      return await (isKnown
        ? refresh()
        : renewals.renew(id, rejected, refresh));
    }
    // The provider cannot tell, so the grant does not end.
    if (!isKnown) return undefined;
    throw await endGrant(id);
  }

  return {
    /**
     * Identifies the person as they are now, with tokens that are refreshed
     * first if possible. Returns undefined if the provider cannot tell.
     */
    async identify(key: GrantKey): Promise<Identity | undefined> {
      const provider = providerOf(key);
      const found = await findLive(key);
      const current = parseTokens(found);
      const rejected = current.accessToken;
      const fresh = current.refreshToken === undefined
        // The old `id_token` does not tell who the person is today.
        ? { ...current, idToken: undefined }
        : (await valid(provider, found, { rejected })).tokens;
      if (!provider.identify || !isAlive(fresh)) return undefined;
      const { grant: { id, identity } } = key;
      return await identifyAgain(
        provider,
        fresh,
        identity,
        (cause) => endGrant(id, cause),
      );
    },

    // Makes the provider's API. It throws only when used, even if there is no
    // provider.
    upstream: (key: GrantKey): Upstream => ({
      async token() {
        return (await validOf(key)).accessToken;
      },

      async fetch(
        input,
        { maxBytes = MAX_TOOL_ANSWER_BYTES, hold, ...init }:
          & BoundedRequest
          & Held = {},
      ) {
        checkBound(maxBytes, "upstream.fetch");
        const provider = providerOf(key);
        const url = addressAt(provider, input);
        const { accessToken } = await validOf(key);
        const response = await sendAs(url, init, accessToken);
        // Only the provider's own API can tell that an access token is invalid.
        const isTheirs = provider.apiUrl !== undefined &&
          url.origin === new URL(provider.apiUrl).origin;
        const answer = (response: Response) =>
          bounded(
            response,
            maxBytes,
            (what) => new ToolError(`${url.host} answered with ${what}.`),
            hold?.(),
          );
        if (response.status !== 401 || !isTheirs) return answer(response);
        const fresh = await renew(provider, key, accessToken)
          .catch(async (error) => {
            await response.body?.cancel();
            throw error;
          });
        // The access token is still valid: the API refuses only this request.
        if (!fresh) return answer(response);
        await response.body?.cancel();
        if (init.body instanceof ReadableStream) {
          // The body was read by the first request, so only the caller can send
          // it again.
          throw new HttpError(503, "The provider's token was renewed", {
            headers: { "retry-after": "1" },
          });
        }
        return answer(await sendAs(url, init, fresh.accessToken));
      },
    }),

    /** Makes the exchange of a person's tokens for tokens of other services. */
    exchange(key: GrantKey | PresentedToken): ServiceTokens {
      if ("accessToken" in key) {
        const { accessToken } = key;
        const find = () =>
          Promise.resolve({
            provider: providerOf({ grant: key }),
            accessToken,
          });
        return exchangeOf(key.provider, { find });
      }
      // Kept, so that one call does not read the tokens twice.
      let last: UpstreamTokens | undefined;
      return exchangeOf(key.grant.provider ?? "", {
        async find() {
          if (!last || !isUsable(last)) last = await validOf(key);
          return { provider: providerOf(key), accessToken: last.accessToken };
        },
        async renew(refused) {
          const renewed = await renew(providerOf(key), key, refused);
          last = renewed ?? last;
          return renewed?.accessToken;
        },
      });
    },

    /**
     * Refreshes tokens that would soon expire, if there is a refresh token: a
     * grant may outlive tokens without one. Returns true if new tokens were
     * stored together with `extraWrites`; otherwise `extraWrites` were not
     * written.
     *
     * @throws {ChallengeError} if the provider no longer accepts the tokens;
     * the grant has then ended
     * @throws {HttpError} 503 if the provider does not respond
     */
    async refreshIfDue(key: GrantKey, extraWrites: Write): Promise<boolean> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider && await find(key);
      if (!found || parseTokens(found).refreshToken === undefined) return false;
      const { written } = await valid(provider, found, { extraWrites });
      return written === extraWrites;
    },

    /**
     * Reads the tokens of a grant, and returns a function that revokes them.
     */
    async revocation(key: GrantKey): Promise<() => Promise<void>> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider?.revoke && await find(key);
      return async () => {
        if (found) await provider!.revoke!(parseTokens(found));
      };
    },
  };
}
