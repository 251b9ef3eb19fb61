/**
 * `GET /account`: the connections of a person's clients, and grants in the form
 * that the parts of the account show.
 *
 * @module
 */
import {
  bindingAt,
  bindingOf,
  type Grant,
  withinLifetimes,
} from "../../oauth/grant.ts";
import {
  type ConnectionInWords,
  ConnectionsSection,
} from "../../pages/connections_section.tsx";
import { WaitingSection } from "../../pages/wait_page.tsx";
import type { AccountPart, AccountVisit } from "./account_pages.ts";
import type { AuthServices } from "../services.ts";
import { clientInWords, waitsInWords } from "./waits.ts";
import { now } from "../../clock.ts";
import type { SessionCounts } from "../../store/sessions.ts";

export function connectionsPart(services: AuthServices): AccountPart {
  const { baseUrl, lifetimes } = services;
  return {
    name: "",
    label: "Connections",
    title: "Your connections",

    async show(visit) {
      const { session: { subject }, providerName, form, now } = visit;
      const counts = sessionCounts(services);
      // Sessions are most likely under this binding: they are read at the same
      // time as the grants.
      counts.begin(bindingAt(baseUrl, subject));
      const [{ own, most }, waits] = await Promise.all([
        ownGrants(subject, services),
        waitsInWords(subject, services),
      ]);
      const connections = own.filter(({ kind }) => kind !== "token");
      const sessions = await counts.of(connections);
      return ConnectionsSection({
        ...form,
        waiting: WaitingSection({ base: form.base, waits, now }),
        providerName,
        clients: byClient(connections).map((held) => ({
          ...clientInWords(held[0], services),
          connections: held.map((grant) =>
            connectionInWords(grant, services, sessions)
          ),
          callsHref: services.ledger && callsHref(visit, held[0].clientName),
        })),
        lifetimes,
        most,
        now,
      });
    },
  };
}

/** Groups sign-ins under the connection that they are of, newest first. */
function byClient(grants: readonly Grant[]): Grant[][] {
  const groups = Map.groupBy(
    grants,
    ({ kind = "", clientId }) => `${kind} ${clientId}`,
  );
  return [...groups.values()];
}

/** The most connections and access tokens on one page; a person has a few. */
const MAX_CONNECTIONS = 500;

/** Lists a person's live grants, newest first; `most` is set if it is cut. */
export async function ownGrants(
  subject: string,
  { grants, lifetimes, clock }: AuthServices,
): Promise<{ own: Grant[]; most?: number }> {
  const listed = await grants.listOfSubject(subject, MAX_CONNECTIONS);
  return {
    own: listed.map((grant) => withinLifetimes(grant, lifetimes))
      .filter(({ expiresAt }) => expiresAt > now(clock)),
    most: listed.length < MAX_CONNECTIONS ? undefined : MAX_CONNECTIONS,
  };
}

/**
 * Makes the counter of the sessions of grants; most of one person have one
 * binding.
 *
 * @param most how many are counted of a binding
 */
export function sessionCounts(
  { sessions }: AuthServices,
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
        hasMore: counts.some(({ hasMore }) => hasMore),
      };
    },
  };
}

/** Describes a connection for its person. */
export function connectionInWords(
  grant: Grant,
  { inWords }: AuthServices,
  sessions: SessionCounts,
): ConnectionInWords {
  return {
    ...grant,
    scopes: inWords(grant.scopes),
    sessions: sessions.of.get(grant.id) ?? 0,
    hasMoreSessions: sessions.hasMore,
  };
}

/** Names the client of a grant, and an access token as such. */
export function clientNameOf({ kind, clientName }: Grant): string {
  return kind === "token" ? `${clientName} (access token)` : clientName;
}

/** Makes the address of the calls of a client of the person who looks. */
export function callsHref(
  { form: { base }, isOperator, session }: AccountVisit,
  client: string,
): string {
  const query = new URLSearchParams({
    ...isOperator && { person: session.subject },
    client,
  });
  return `${base}/account/calls?${query}`;
}
