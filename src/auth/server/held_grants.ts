/**
 * Grants as long as they hold, for work that has no request any more, or whose
 * request was long ago.
 *
 * @module
 */
import type { Authenticated, Caller } from "../../caller.ts";
import { type Clock, now } from "../../clock.ts";
import type { AccessTokenStore } from "../../store/access_tokens.ts";
import { recent } from "../../store/recent.ts";
import { callerOf, type Grant, withinLifetimes } from "../rules/grant.ts";
import type { Held, MayHold } from "../rules/held_scopes.ts";
import type { Lifetimes } from "../rules/lifetimes.ts";

/** Makes the look at grants, at most a second stale. */
export function heldGrants(
  { accessTokens, mayHold, lifetimes, clock }: {
    accessTokens: Pick<AccessTokenStore, "findGrant">;
    /** Tells what a grant's tokens may still be used for. */
    mayHold: MayHold;
    lifetimes: Lifetimes;
    clock: Clock;
  },
) {
  const live = recent(accessTokens.findGrant, { clock });

  async function find(
    grantId: string,
    scopes: readonly string[],
  ): Promise<{ grant: Grant; held: Held } | undefined> {
    const grant = await live.find(grantId);
    if (!grant || grant.pausedAt !== undefined) return undefined;
    const { expiresAt } = withinLifetimes(grant, lifetimes);
    const held = expiresAt > now(clock) && mayHold(grant, scopes);
    return held ? { grant, held } : undefined;
  }

  /** True if a grant still allows everything that it did. */
  async function isStillHeld(
    grantId: string,
    scopes: readonly string[],
  ): Promise<boolean> {
    const found = await find(grantId, scopes);
    return found?.held.scopes.length === scopes.length;
  }

  return {
    isStillHeld,

    /**
     * Finds a caller of earlier as their grant makes them now, without the
     * provider's API: that is sealed with a credential of a request.
     */
    async restore(
      { grantId = "", scopes }: Caller,
    ): Promise<Authenticated | undefined> {
      const wanted = scopes === "all" ? [] : scopes;
      const found = await find(grantId, wanted);
      if (!found) return undefined;
      const { grant, held } = found;
      return {
        caller: callerOf(grant, held),
        isLive: (id = grantId) => isStillHeld(id, held.scopes),
      };
    },
  };
}
