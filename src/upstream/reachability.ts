/**
 * The reachability of the provider, from the last request to it.
 *
 * @module
 */
import { type Provider, UpstreamError } from "./provider.ts";

/** The reachability; `unknown` before the first request. */
export type Reachability = "ok" | "unavailable" | "unknown";

/** A provider that remembers the result of its last request. */
export interface WatchedProvider {
  provider: Provider;
  reachability(): Reachability;
}

/** Watches a provider. No request is made just to find out. */
export function watchProvider(watched: Provider): WatchedProvider {
  let reachability: Reachability = "unknown";

  async function noting<T>(
    conversation: Promise<T>,
    success: Reachability = "ok",
  ): Promise<T> {
    try {
      const result = await conversation;
      reachability = success;
      return result;
    } catch (error) {
      // Any other refusal is an answer too.
      const isAway = error instanceof UpstreamError &&
        error.kind === "unavailable";
      reachability = isAway ? "unavailable" : "ok";
      throw error;
    }
  }

  return {
    provider: {
      name: watched.name,
      get apiUrl() {
        return watched.apiUrl;
      },
      // Often built from settings alone, so success proves nothing.
      authorizationUrl: (request) =>
        noting(watched.authorizationUrl(request), reachability),
      redeem: (response) => noting(watched.redeem(response)),
      refresh: (refreshToken) => noting(watched.refresh(refreshToken)),
      identify: watched.identify &&
        ((tokens) => noting(watched.identify!(tokens))),
      isAlive: watched.isAlive &&
        ((accessToken) => noting(watched.isAlive!(accessToken))),
      revoke: watched.revoke && ((tokens) => noting(watched.revoke!(tokens))),
    },
    reachability: () => reachability,
  };
}
