/**
 * The provider's API for a tool: requests in the name of the caller, with a
 * token that is valid when they are made.
 *
 * @module
 */
import type { Upstream } from "../../caller.ts";
import { HttpError } from "../../errors.ts";
import { isLoopback } from "../../net/url.ts";
import type { Provider, UpstreamTokens } from "./provider.ts";

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

/** Makes an API that takes its tokens from a source. */
export function api(
  { name, apiUrl }: Pick<Provider, "name" | "apiUrl">,
  { tokens, renew }: {
    /** Gives tokens that are valid now. */
    tokens(): Promise<UpstreamTokens>;
    /** Gives tokens in place of a refused one, unless it is still valid. */
    renew(rejected: string): Promise<UpstreamTokens | undefined>;
  },
): Upstream {
  function resolve(input: string | URL): URL {
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
    { accessToken }: UpstreamTokens,
  ): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${accessToken}`);
    return await fetch(url, { ...init, headers });
  }

  return {
    token: async () => (await tokens()).accessToken,

    async fetch(input, init = {}) {
      const url = resolve(input);
      const current = await tokens();
      const response = await send(url, init, current);
      // Only the provider itself can tell that its token is dead.
      const isTheirs = apiUrl !== undefined &&
        url.origin === new URL(apiUrl).origin;
      if (response.status !== 401 || !isTheirs) return response;
      const fresh = await renew(current.accessToken).catch(async (error) => {
        await response.body?.cancel();
        throw error;
      });
      // The provider refuses this request only; the token is still valid.
      if (!fresh) return response;
      await response.body?.cancel();
      if (init.body instanceof ReadableStream) {
        // The body has been read, so only the caller can send it again.
        throw new HttpError(503, "The provider's token was renewed", {
          "retry-after": "1",
        });
      }
      return await send(url, init, fresh);
    },
  };
}
