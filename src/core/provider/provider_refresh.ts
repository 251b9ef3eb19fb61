/**
 * Refreshes a grant's tokens at the provider. If the provider no longer accepts
 * them, the grant ends.
 *
 * @module
 */
import { ChallengeError } from "../errors.ts";
import type { GrantStore } from "../store/grants.ts";
import type {
  FoundTokens,
  UpstreamTokenStore,
} from "../store/upstream_tokens.ts";
import {
  leasedRefresh,
  type LeasedRefreshOptions,
  type RefreshOptions,
} from "./leased_refresh.ts";
import type { Provider } from "./provider.ts";
import { askProvider, providerUnavailable } from "./unavailable.ts";

/** Makes the functions that refresh a grant's stored tokens. */
export function providerRefresh({ grants, upstreamTokens, ...options }: {
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
export function signInEnded(cause?: unknown): ChallengeError {
  return new ChallengeError(
    "The sign-in at the provider has ended",
    "invalid_token",
    [],
    { cause },
  );
}
