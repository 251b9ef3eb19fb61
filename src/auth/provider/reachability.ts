/**
 * The reachability of the provider, from the last request to it.
 *
 * @module
 */
import { detached } from "../../telemetry/current.ts";
import { type Provider, UpstreamError } from "./provider.ts";

/** The pause between two looks: strangers may cause them. */
const LOOK_MILLISECONDS = 60_000;

/**
 * The reachability; `unknown` before the first request, `misbehaved` after a
 * look that found no provider that people could sign in with.
 */
export type Reachability = "ok" | "unavailable" | "misbehaved" | "unknown";

/** A provider that remembers the result of its last request. */
export interface WatchedProvider {
  provider: Provider;
  /** Tells the present state, and has a look in the background unless it is ok. */
  reachability(): Reachability;
}

/**
 * Watches a provider.
 *
 * @param onFault is told why a look failed, once until the provider is well
 */
export function watchProvider(
  watched: Provider,
  onFault: (error: unknown) => void = () => {},
): WatchedProvider {
  let reachability: Reachability = "unknown";
  let lookedMilliseconds = -Infinity;
  let hasTold = false;

  async function look(): Promise<void> {
    const time = Date.now();
    if (Math.abs(time - lookedMilliseconds) < LOOK_MILLISECONDS) return;
    lookedMilliseconds = time;
    try {
      await watched.look!();
      reachability = "ok";
      hasTold = false;
    } catch (error) {
      const { kind } = error as Partial<UpstreamError>;
      reachability = kind === "misbehaved" ? kind : "unavailable";
      if (!hasTold) onFault(error);
      hasTold = true;
    }
  }

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
    reachability() {
      if (reachability !== "ok" && watched.look) detached(look);
      return reachability;
    },
  };
}
