/**
 * A grant's tokens at the provider: for endpoints, and for tools that call the
 * provider's API for their caller. If the provider no longer accepts them at a
 * refresh, the grant ends.
 *
 * @module
 */
import type { BoundedRequest, Identity, Upstream } from "../caller.ts";
import { ToolError } from "../../authoring/tool.ts";
import type { ServiceTokens } from "../token_exchange.ts";
import { ChallengeError, HttpError } from "../errors.ts";
import {
  boundedResponse,
  checkMaxBytes,
  MAX_TOOL_ANSWER_BYTES,
  type ToolFetchOptions,
} from "../net/bounded_answer.ts";
import type { Grant, KnownPerson } from "../oauth/grant.ts";
import type { Entry, Write } from "../kv/database.ts";
import type {
  FoundTokens,
  UpstreamRecord,
  UpstreamTokenStore,
} from "../store/upstream_tokens.ts";
import type { Provider, UpstreamTokens } from "./provider.ts";
import { providerRequestUrl, sendWithToken } from "./provider_api.ts";
import { Renewals } from "./renewals.ts";
import type { SignInProviders } from "./sign_in_providers.ts";
import {
  leasedRefresh,
  type LeasedRefreshOptions,
  parseTokens,
  type RefreshOptions,
} from "./leased_refresh.ts";
import { tokenExchanges } from "./token_exchange.ts";
import {
  askProvider,
  identifyAgain,
  providerUnavailable,
} from "./unavailable.ts";
import type { GrantStore } from "../store/grants.ts";

/** Makes the functions that refresh a grant's stored tokens. */
function providerRefresh({ grants, upstreamTokens, ...options }: {
  grants: Pick<GrantStore, "revoke">;
  upstreamTokens: UpstreamTokenStore;
} & LeasedRefreshOptions) {
  const { valid, ...tokens } = leasedRefresh<FoundTokens>(
    upstreamTokens,
    options,
  );

  async function endGrant(
    grantId: string,
    cause?: unknown,
  ): Promise<ChallengeError> {
    await grants.revoke(grantId);
    return signInEnded(cause);
  }

  return {
    ...tokens,
    endGrant,

    /** Returns valid tokens: the given ones, or refreshed ones. */
    valid: (provider: Provider, found: FoundTokens, more?: RefreshOptions) =>
      valid(
        {
          refresh: (refreshToken) => provider.refresh(refreshToken),
          end: (cause) => endGrant(found.id, cause),
          async expired({ accessToken }) {
            const isAlive = await askProvider(
              provider,
              async () => await provider.isAlive?.(accessToken),
            );
            return isAlive ? undefined : await endGrant(found.id);
          },
          gone: signInEnded,
          unavailable: (cause) => providerUnavailable(provider.name, cause),
        },
        found,
        more,
      ),
  };
}

/** Makes the error for a grant whose provider tokens are no longer accepted. */
function signInEnded(cause?: unknown): ChallengeError {
  return new ChallengeError(
    "The sign-in at the provider has ended",
    "invalid_token",
    [],
    { cause },
  );
}

/** A grant, and the key that decrypts its provider tokens. */
export interface GrantWithKey {
  grant: Pick<Grant, "id"> & KnownPerson;
  dataKey(): Promise<Uint8Array>;
  sealed?: Entry<UpstreamRecord>;
}

/** A JWT of a provider, by which a person has authenticated to this server. */
export interface PresentedJwt {
  provider: string;
  accessToken: string;
}

export type ProviderTokens = ReturnType<typeof providerTokens>;

/**
 * Makes the functions that use grants' tokens at their providers. Tokens of a
 * provider that is no longer configured are invalid.
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
    { grant, dataKey, sealed }: GrantWithKey,
  ): Promise<FoundTokens | undefined> {
    return await upstreamTokens.find(
      { id: grant.id, dataKey: await dataKey() },
      sealed,
    );
  }

  /**
   * Returns the provider of a grant.
   *
   * @throws {ChallengeError} if it is no longer configured
   */
  function providerOf(
    { grant }: { grant: Pick<KnownPerson, "provider"> },
  ): Provider {
    const found = providers.of(grant);
    if (found) return found.provider;
    throw signInEnded();
  }

  async function findLive(key: GrantWithKey): Promise<FoundTokens> {
    const found = await find(key);
    if (found) return found;
    throw signInEnded();
  }

  async function validOf(key: GrantWithKey): Promise<UpstreamTokens> {
    return (await valid(providerOf(key), await findLive(key))).tokens;
  }

  /**
   * Replaces an access token that the provider's API has refused. Undefined if
   * the provider itself still accepts the token, or it cannot be replaced.
   */
  async function renew(
    provider: Provider,
    key: GrantWithKey,
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
    // The access token may still be valid, so the grant does not end.
    if (!isKnown) return undefined;
    throw await endGrant(id);
  }

  return {
    /**
     * Returns the person's current identity, refreshing their tokens if
     * possible. Undefined if the provider cannot tell.
     */
    async identify(key: GrantWithKey): Promise<Identity | undefined> {
      const provider = providerOf(key);
      const found = await findLive(key);
      const current = parseTokens(found);
      const rejected = current.accessToken;
      const fresh = current.refreshToken === undefined
        // The old `id_token` does not say who the person is today.
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

    // Makes the provider's API, which throws when used without a provider.
    upstream: (key: GrantWithKey): Upstream => ({
      async token() {
        return (await validOf(key)).accessToken;
      },

      async fetch(
        input,
        { maxBytes = MAX_TOOL_ANSWER_BYTES, hold, ...init }:
          & BoundedRequest
          & ToolFetchOptions = {},
      ) {
        checkMaxBytes(maxBytes, "upstream.fetch");
        const provider = providerOf(key);
        const url = providerRequestUrl(provider, input);
        const { accessToken } = await validOf(key);
        const response = await sendWithToken(url, init, accessToken);
        // Only a 401 of the provider's own API says that the access token is
        // invalid.
        const isTheirs = provider.apiUrl !== undefined &&
          url.origin === new URL(provider.apiUrl).origin;
        const answer = (response: Response) =>
          boundedResponse(
            response,
            maxBytes,
            (what) => new ToolError(`${url.host} answered with ${what}.`),
            hold?.(),
            init.signal,
          );
        if (response.status !== 401 || !isTheirs) return answer(response);
        const fresh = await renew(provider, key, accessToken)
          .catch(async (error) => {
            await response.body?.cancel();
            throw error;
          });
        // The access token is still valid: the API refuses just this
        // request.
        if (!fresh) return answer(response);
        await response.body?.cancel();
        if (init.body instanceof ReadableStream) {
          // The first request has consumed the body, so only the tool can
          // repeat it.
          throw new HttpError(503, "The provider's token was renewed", {
            headers: { "retry-after": "1" },
          });
        }
        return answer(await sendWithToken(url, init, fresh.accessToken));
      },
    }),

    /**
     * Lets a person's access tokens be exchanged for those of other services.
     */
    exchange(key: GrantWithKey | PresentedJwt): ServiceTokens {
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
     * Refreshes tokens that would soon expire. Without a refresh token it does
     * nothing: the grant may outlive the tokens. Returns true if new tokens
     * were stored, together with `extraWrites`; otherwise neither was.
     * @throws {ChallengeError} if the provider no longer accepts the tokens;
     * the grant has then ended
     * @throws {HttpError} 503 if the provider does not respond
     */
    async refreshIfDue(
      key: GrantWithKey,
      extraWrites: Write,
    ): Promise<boolean> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider && await find(key);
      if (!found || parseTokens(found).refreshToken === undefined) return false;
      const { written } = await valid(provider, found, { extraWrites });
      return written === extraWrites;
    },

    /** Reads the tokens of a grant. Returns the function that revokes them. */
    async revocation(key: GrantWithKey): Promise<() => Promise<void>> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider?.revoke && await find(key);
      return async () => {
        if (found) await provider!.revoke!(parseTokens(found));
      };
    },
  };
}
