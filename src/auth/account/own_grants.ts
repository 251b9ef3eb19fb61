/**
 * Grants in the form that the account page shows, and those of a person.
 *
 * @module
 */
import { now } from "../../clock.ts";
import type { AskingClient } from "../../pages/names.tsx";
import type { ConnectionInWords } from "../../pages/connections_section.tsx";
import type { SessionCounts } from "../../store/sessions.ts";
import {
  bindingOf,
  type Grant,
  isPassing,
  withinLifetimes,
} from "../rules/grant.ts";
import type { LimitedServices } from "../services.ts";

/** The most connections and access tokens on one page; a person has a few. */
const MOST_SHOWN = 500;

/** Lists a person's live grants, newest first; `most` is set if it is cut. */
export async function ownGrants(
  subject: string,
  { grants, lifetimes, clock }: LimitedServices,
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
  { sessions }: LimitedServices,
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
    begin,

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
  { inWords }: LimitedServices,
  sessions: SessionCounts,
): ConnectionInWords {
  return {
    ...grant,
    grantId: grant.id,
    scopes: inWords(grant.scopes),
    isPassing: isPassing(grant),
    sessions: sessions.of.get(grant.id) ?? 0,
    hasMoreSessions: sessions.isCut,
  };
}

/** Describes the client of a grant for its person. */
export function clientInWords(
  { clientId, clientName }: Pick<Grant, "clientId" | "clientName">,
  { configured }: LimitedServices,
): AskingClient {
  return {
    name: clientName,
    isKnown: configured.some((client) => client.clientId === clientId),
    // Only a client with a metadata document has an address as its ID.
    domain: clientId.startsWith("https:")
      ? URL.parse(clientId)?.hostname
      : undefined,
  };
}

/** Names the client of a grant, and an access token as such. */
export function clientNameOf({ kind, clientName }: Grant): string {
  return kind === "token" ? `${clientName} (access token)` : clientName;
}
