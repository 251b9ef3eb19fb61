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
} from "../../core/oauth/grant.ts";
import {
  ConnectionsSection,
  type GrantInWords,
} from "./connections_section.tsx";
import type { ToolInWords } from "../../core/pages/names.tsx";
import { WaitingSection } from "./waiting_section.tsx";
import type {
  AccountPart,
  AccountServices,
  AccountVisit,
} from "./account_pages.ts";
import { clientInWords } from "./client_words.ts";
import { now } from "../../core/clock.ts";
import type { SessionCounts } from "../../core/store/sessions.ts";

export function connectionsPart(services: AccountServices): AccountPart {
  const { baseUrl, lifetimes, additions } = services;
  return {
    name: "",
    label: "Connections",
    title: "Your connections",

    async show(visit) {
      const { session, session: { subject }, providerName, form, now } = visit;
      const counts = sessionCounts(services);
      // Most sessions are under this binding: they are read while the grants
      // are read.
      counts.begin(bindingAt(baseUrl, subject));
      const [{ own, most }, sections, ...waiting] = await Promise.all([
        ownGrants(subject, services),
        Promise.all(additions.map(({ section }) => section?.(visit, services))),
        ...additions.map(({ waiting }) => waiting?.(session, services) ?? []),
      ]);
      const waits = waiting.flat().toSorted((
        { endsAt: end = Infinity, createdAt },
        { endsAt: otherEnd = Infinity, createdAt: other },
      ) => end - otherEnd || other - createdAt);
      const connections = own.filter(({ kind }) => kind !== "token");
      const sessions = await counts.of(connections);
      return ConnectionsSection({
        ...form,
        waiting: WaitingSection({ base: form.base, waits, now }),
        sections,
        providerName,
        clients: byClient(connections).map((grants) => ({
          ...clientInWords(grants[0], services),
          signIns: grants.map((grant) =>
            connectionInWords(grant, services, sessions)
          ),
          tools: toolsOf(grants, services),
          callsHref: callsHref(visit, grants[0].clientName, services),
        })),
        lifetimes,
        most,
        now,
      });
    },
  };
}

/** Groups grants by their connection, newest first. */
function byClient(grants: readonly Grant[]): Grant[][] {
  const groups = Map.groupBy(
    grants,
    ({ kind = "", clientId }) => `${kind} ${clientId}`,
  );
  return [...groups.values()];
}

/**
 * The maximum number of connections and access tokens on one page; a person has
 * a few.
 */
const MAX_CONNECTIONS = 500;

/**
 * Lists a person's live grants, newest first; `most` is set if there may be
 * more.
 */
export async function ownGrants(
  subject: string,
  { grants, lifetimes, clock }: AccountServices,
): Promise<{ own: Grant[]; most?: number }> {
  const listed = await grants.listOfSubject(subject, MAX_CONNECTIONS);
  return {
    own: listed.map((grant) => withinLifetimes(grant, lifetimes))
      .filter(({ expiresAt }) => expiresAt > now(clock)),
    most: listed.length < MAX_CONNECTIONS ? undefined : MAX_CONNECTIONS,
  };
}

/**
 * Makes the counter of the sessions of grants. It reads the sessions of a
 * binding once, because most grants of a person have the same binding.
 *
 * @param most the maximum number of sessions of a binding that are counted
 */
export function sessionCounts({ sessions }: AccountServices, most?: number) {
  const counted = new Map<string, Promise<SessionCounts>>();

  function begin(binding: string): Promise<SessionCounts> {
    const counts = counted.get(binding) ?? sessions.countsOf(binding, most);
    // A failure is thrown where the counts are awaited.
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

/** Lists the tools that these grants allow by today's rules. */
export function toolsOf(
  grants: readonly Grant[],
  { effectiveScopes, toolsWithin }: AccountServices,
): ToolInWords[] {
  const effective = grants.map((grant) => effectiveScopes(grant))
    .filter((one) => one !== undefined);
  // If all grants have ended or are paused, not even a tool without scopes may
  // be called.
  if (effective.length === 0) return [];
  return toolsWithin(effective.flatMap(({ scopes }) => scopes));
}

/** Describes a connection for its person. */
export function connectionInWords(
  grant: Grant,
  { inWords }: AccountServices,
  sessions: SessionCounts,
): GrantInWords {
  return {
    ...grant,
    scopes: inWords(grant.scopes),
    sessions: sessions.of.get(grant.id) ?? 0,
    hasMoreSessions: sessions.hasMore,
  };
}

/** Makes the address of a person's calls through a client, if there are any. */
export function callsHref(
  visit: AccountVisit,
  client: string,
  { additions, ...services }: AccountServices,
): string | undefined {
  return additions.map(({ callsHref }) => callsHref?.(visit, client, services))
    .find((href) => href !== undefined);
}
