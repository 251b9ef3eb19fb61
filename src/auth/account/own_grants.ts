/**
 * The live grants of a person, for their own page.
 *
 * @module
 */
import { type Clock, now } from "../../clock.ts";
import type { GrantStore } from "../../store/grants.ts";
import { type Grant, withinLifetimes } from "../rules/grant.ts";
import type { Lifetimes } from "../rules/lifetimes.ts";

/** The most connections and access tokens on one page; a person has a few. */
const MOST_SHOWN = 500;

/** The sources of a person's grants. */
export interface OwnGrantSources {
  grants: Pick<GrantStore, "listOfSubject">;
  lifetimes: Lifetimes;
  clock: Clock;
}

/** Lists a person's live grants, newest first; `most` is set if it is cut. */
export async function ownGrants(
  subject: string,
  { grants, lifetimes, clock }: OwnGrantSources,
): Promise<{ own: Grant[]; most?: number }> {
  const listed = await grants.listOfSubject(subject, MOST_SHOWN);
  return {
    own: listed.map((grant) => withinLifetimes(grant, lifetimes))
      .filter(({ expiresAt }) => expiresAt > now(clock)),
    most: listed.length < MOST_SHOWN ? undefined : MOST_SHOWN,
  };
}
