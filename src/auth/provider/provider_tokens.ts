/**
 * A grant's tokens at the provider, as endpoints use them, and the provider's
 * API for tools: requests in the name of the caller, with a token that is valid
 * when they are made.
 *
 * @module
 */
import type { Identity, Upstream } from "../../caller.ts";
import type { TokenExchange } from "../../token_exchange.ts";
import { HttpError } from "../../errors.ts";
import { isLoopback } from "../../net/url.ts";
import type { Grant, KnownPerson } from "../../oauth/grant.ts";
import type { Entry, Write } from "../../store/database.ts";
import type {
  FoundTokens,
  UpstreamRecord,
} from "../../store/upstream_tokens.ts";
import { parseTokens } from "./leased_refresh.ts";
import type { Provider, UpstreamTokens } from "./provider.ts";
import { providerRefresh, signInEnded } from "./provider_refresh.ts";
import type { SignInProviders } from "./sign_in_providers.ts";
import { tokenExchanges } from "./token_exchange.ts";
import { askProvider, identifyAgain } from "./unavailable.ts";

/** A grant, and the key that opens its sealed tokens. */
export interface GrantKey {
  grant: Pick<Grant, "id"> & KnownPerson;
  dataKey(): Promise<Uint8Array>;
  /** The tokens, if they were read together with their key. */
  sealed?: Entry<UpstreamRecord>;
}

export type ProviderTokens = ReturnType<typeof providerTokens>;

/**
 * Opens grants' tokens at their providers. Those of a provider that is no
 * longer listed are treated as dead.
 */
export function providerTokens(
  { providers, ...options }: Parameters<typeof providerRefresh>[0] & {
    providers: Pick<SignInProviders, "of">;
  },
) {
  const { upstreamTokens } = options;
  const { valid, isAlive, isUsable, endGrant } = providerRefresh(options);
  const exchangeOf = tokenExchanges();

  async function find(
    { grant, dataKey, sealed }: GrantKey,
  ): Promise<FoundTokens | undefined> {
    return await upstreamTokens.find(grant.id, await dataKey(), sealed);
  }

  /** Finds the provider of a grant. @throws {ChallengeError} if there is none */
  function providerOf({ grant }: GrantKey): Provider {
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

  /** Gives tokens in place of a refused one; undefined if it is still valid. */
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
    if (current.refreshToken !== undefined) {
      return (await valid(provider, found, { rejected })).tokens;
    }
    // If the provider does not say, the grant does not end.
    if (isAlive === undefined) return undefined;
    throw await endGrant(key.grant.id);
  }

  return {
    /**
     * Identifies the person as they are now, with tokens that are refreshed for
     * this if possible; undefined if the provider can no longer be asked.
     */
    async identify(key: GrantKey): Promise<Identity | undefined> {
      const provider = providerOf(key);
      const found = await findLive(key);
      const current = parseTokens(found);
      const rejected = current.accessToken;
      const fresh = current.refreshToken === undefined
        // An old id_token does not have the identity of today.
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

    // Throws only when it is used, even if there is no provider.
    upstream: (key: GrantKey): Upstream => ({
      async token() {
        return (await validOf(key)).accessToken;
      },

      async fetch(input, init = {}) {
        const provider = providerOf(key);
        const url = addressAt(provider, input);
        const { accessToken } = await validOf(key);
        const response = await send(url, init, accessToken);
        // Only the provider itself can tell that its token is dead.
        const isTheirs = provider.apiUrl !== undefined &&
          url.origin === new URL(provider.apiUrl).origin;
        if (response.status !== 401 || !isTheirs) return response;
        const fresh = await renew(provider, key, accessToken)
          .catch(async (error) => {
            await response.body?.cancel();
            throw error;
          });
        // The provider refuses this request only; the token is still valid.
        if (!fresh) return response;
        await response.body?.cancel();
        if (init.body instanceof ReadableStream) {
          // The body has been read, so only the caller can send it again.
          throw new HttpError(503, "The provider's token was renewed", {
            headers: { "retry-after": "1" },
          });
        }
        return await send(url, init, fresh.accessToken);
      },
    }),

    /** Makes the exchange of a grant's tokens for those of other services. */
    exchange(key: GrantKey): TokenExchange {
      // No second read for the same call.
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
     * Refreshes tokens that would soon expire, if they can be refreshed: a grant
     * may outlive a provider token that cannot. Returns true if new tokens were
     * stored, and `extraWrites` with them; otherwise none of those was written.
     *
     * @throws {ChallengeError} when the tokens are dead; the grant has then ended
     * @throws {HttpError} 503 when the provider does not answer
     */
    async refreshIfDue(key: GrantKey, extraWrites: Write): Promise<boolean> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider && await find(key);
      if (!found || parseTokens(found).refreshToken === undefined) return false;
      const { written } = await valid(provider, found, { extraWrites });
      return written === extraWrites;
    },

    /** Reads the tokens of a grant. Returns a function that revokes them. */
    async revocation(key: GrantKey): Promise<() => Promise<void>> {
      const provider = providers.of(key.grant)?.provider;
      const found = provider?.revoke && await find(key);
      return async () => {
        if (found) await provider!.revoke!(parseTokens(found));
      };
    },
  };
}

/** First labels of API hosts; what follows is the provider's domain. */
const API_LABEL = /^(api|graph|www)\./;

/**
 * True if a URL is the provider's: the origin of its API, or another https host
 * in that API's domain. If no API address is known, the tool's author chooses
 * the host, and only a host without https is refused.
 */
export function isProviderAddress(url: URL, apiUrl?: string): boolean {
  if (apiUrl === undefined) return url.protocol === "https:" || isLoopback(url);
  const api = new URL(apiUrl);
  if (url.origin === api.origin) return true;
  const domain = api.hostname.replace(API_LABEL, "");
  return url.protocol === "https:" &&
    (url.hostname === domain || url.hostname.endsWith(`.${domain}`));
}

/** Finds the address of a request, which must be one of the provider's. */
function addressAt(
  { name, apiUrl }: Pick<Provider, "name" | "apiUrl">,
  input: string | URL,
): URL {
  // A path is relative to the API's own path, not to the root of its host.
  const isPath = typeof input === "string" && input.startsWith("/");
  const base = apiUrl?.replace(/\/$/, "") ?? "";
  const url = URL.parse(isPath ? base + input : input);
  if (!url) {
    throw new TypeError(
      apiUrl === undefined
        ? `${name} has no API address: use an absolute URL`
        : "Neither a path nor an absolute URL",
    );
  }
  if (isProviderAddress(url, apiUrl)) return url;
  throw new TypeError(`${url.origin} is not ${name}'s: its token stays here`);
}

async function send(
  url: URL,
  init: RequestInit,
  accessToken: string,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${accessToken}`);
  return await fetch(url, { ...init, headers });
}
