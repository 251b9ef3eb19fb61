/**
 * Whether the provider answers, as far as the last conversation showed.
 *
 * @module
 */
import { type Provider, UpstreamError } from "./provider.ts";

/** What is known of the provider; `unknown` until someone needs it. */
export type Reachability = "ok" | "unavailable" | "unknown";

/** The same provider, with a memory of how its last conversation went. */
export interface WatchedProvider {
  provider: Provider;
  reachability(): Reachability;
}

/** Watches a provider. Nothing is asked for the sake of knowing. */
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
      // Any other refusal is an answer, too.
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
      // Often put together from settings alone: success shows nothing.
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
