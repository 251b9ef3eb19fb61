/**
 * Grants in the form that the account page shows, and those of a person.
 *
 * @module
 */
import { now } from "../../clock.ts";
import type { ConnectionInWords } from "../../pages/connections_section.tsx";
import type { TokenInWords } from "../../pages/token_section.tsx";
import type { SessionCounts } from "../../store/sessions.ts";
import {
  bindingOf,
  type Grant,
  isPassing,
  withinLifetimes,
} from "../rules/grant.ts";
import type { AccountServices } from "./account_services.ts";

/** The most connections and access tokens on one page; a person has a few. */
const MOST_SHOWN = 500;

/** Lists a person's live grants, newest first; `most` is set if it is cut. */
export async function ownGrants(
  subject: string,
  { grants, lifetimes, clock }: AccountServices,
): Promise<{ own: Grant[]; most?: number }> {
  const listed = await grants.listOfSubject(subject, MOST_SHOWN);
  return {
    own: listed.map((grant) => withinLifetimes(grant, lifetimes))
      .filter(({ expiresAt }) => expiresAt > now(clock)),
    most: listed.length < MOST_SHOWN ? undefined : MOST_SHOWN,
  };
}

/**
 * Makes the counter of the sessions of grants; most of one person have one
 * binding.
 *
 * @param most how many are counted of a binding
 */
export function sessionCounts(
  { sessions }: AccountServices,
  most?: number,
) {
  const counted = new Map<string, Promise<SessionCounts>>();

  function begin(binding: string): Promise<SessionCounts> {
    const counts = counted.get(binding) ?? sessions.countsOf(binding, most);
    // A failure is told to who waits for it.
    counts.catch(() => {});
    counted.set(binding, counts);
    return counts;
  }

  return {
    /** Begins to count those of a binding. */
    begin,

    /** Counts those of some grants. */
    async of(grants: readonly Grant[]): Promise<SessionCounts> {
      const bindings = new Set(grants.map(bindingOf));
      const counts = await Promise.all([...bindings].map(begin));
      return {
        of: new Map(counts.flatMap(({ of }) => [...of])),
        isCut: counts.some(({ isCut }) => isCut),
      };
    },
  };
}

/** Describes a connection for its person. */
export function connectionInWords(
  grant: Grant,
  { inWords }: AccountServices,
  { sessions }: { sessions: SessionCounts },
): ConnectionInWords {
  const { id: grantId, createdAt, usedAt, scopes, redirectUri, pausedAt } =
    grant;
  return {
    grantId,
    createdAt,
    usedAt,
    scopes: inWords(scopes),
    redirectUri,
    pausedAt,
    isPassing: isPassing(grant),
    sessions: sessions.of.get(grantId) ?? 0,
    hasMoreSessions: sessions.isCut,
  };
}

/** Describes an access token for the person who made it. */
export function tokenInWords(
  grant: Grant,
  { inWords }: AccountServices,
): TokenInWords {
  const { id: grantId, clientName: name, scopes, createdAt, usedAt, endsAt } =
    grant;
  return {
    grantId,
    name,
    scopes: inWords(scopes),
    createdAt,
    usedAt: usedAt > createdAt ? usedAt : undefined,
    endsAt,
    pausedAt: grant.pausedAt,
  };
}

/** Names the client of a grant, and an access token as such. */
export function clientNameOf({ kind, clientName }: Grant): string {
  return kind === "token" ? `${clientName} (access token)` : clientName;
}
