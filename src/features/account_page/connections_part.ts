/**
 * `GET /account`: the clients that a person connected, and descriptions of
 * grants for other parts of the account page.
 *
 * @module
 */
import {
  bindingAt,
  bindingOf,
  type Grant,
  ledgerIdOf,
  withinLifetimes,
} from "../../core/oauth/grant.ts";
import {
  ConnectionsSection,
  type GrantInWords,
} from "./connections_section.tsx";
import type { ToolInWords } from "../../core/pages/names.tsx";
import { WaitingSection } from "./waiting_section.tsx";
import type {
  AccountPagePart,
  AccountPageServices,
  AccountPageVisit,
} from "./account_pages.ts";
import { clientInWords } from "./client_words.ts";
import { now } from "../../core/clock.ts";
import type { SessionCounts } from "../../core/store/sessions.ts";

export function connectionsPart(
  services: AccountPageServices,
): AccountPagePart {
  const { baseUrl, lifetimes, additions } = services;
  return {
    name: "",
    label: "Connections",
    title: "Your connections",

    async show(visit) {
      const { session, session: { subject }, providerName, form, now } = visit;
      const counts = sessionCounts(services);
      // Most sessions have this binding, so they are read at the same time as
      // the grants.
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
      const active = own.filter(({ kind }) => kind !== "token");
      const [sessions, calls] = await Promise.all([
        counts.of(active),
        services.ledger?.list(active.map(ledgerIdOf)),
      ]);
      // A grant stores its last refresh, not its last call.
      const connections = active.map((grant, index) => ({
        ...grant,
        usedAt: Math.max(grant.usedAt, calls?.[index][0]?.at ?? 0),
      }));
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

function byClient(grants: readonly Grant[]): Grant[][] {
  const groups = Map.groupBy(
    grants,
    ({ kind = "", clientId }) => `${kind} ${clientId}`,
  );
  return [...groups.values()];
}

/** The maximum number of grants on one page. */
const MAX_CONNECTIONS = 500;

/**
 * Lists a person's live grants, newest first. `most` is set if there may be
 * more.
 */
export async function ownGrants(
  subject: string,
  { grants, lifetimes, clock }: AccountPageServices,
): Promise<{ own: Grant[]; most?: number }> {
  const listed = await grants.listOfSubject(subject, MAX_CONNECTIONS);
  return {
    own: listed.map((grant) => withinLifetimes(grant, lifetimes))
      .filter(({ expiresAt }) => expiresAt > now(clock)),
    most: listed.length < MAX_CONNECTIONS ? undefined : MAX_CONNECTIONS,
  };
}

/**
 * Makes the function that counts the MCP sessions of grants. Grants with the
 * same `binding` (issuer, resource and subject) are counted from one read.
 *
 * @param most the maximum number of sessions that are read for a binding
 */
export function sessionCounts(
  { sessions }: AccountPageServices,
  most?: number,
) {
  const counted = new Map<string, Promise<SessionCounts>>();

  function begin(binding: string): Promise<SessionCounts> {
    const counts = counted.get(binding) ?? sessions.countsOf(binding, most);
    // The failure is thrown again where the counts are awaited.
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

/** Lists the tools that these grants allow under the current rules. */
export function toolsOf(
  grants: readonly Grant[],
  { effectiveScopes, toolsWithin }: AccountPageServices,
): ToolInWords[] {
  const effective = grants.map((grant) => effectiveScopes(grant))
    .filter((one) => one !== undefined);
  // If all grants are ended or paused, even tools without scopes are refused.
  if (effective.length === 0) return [];
  return toolsWithin(effective.flatMap(({ scopes }) => scopes));
}

export function connectionInWords(
  grant: Grant,
  { inWords }: AccountPageServices,
  sessions: SessionCounts,
): GrantInWords {
  return {
    ...grant,
    scopes: inWords(grant.scopes),
    sessions: sessions.of.get(grant.id) ?? 0,
    hasMoreSessions: sessions.hasMore,
  };
}

/**
 * Makes the URL of a person's calls through a client. Undefined if no calls are
 * stored.
 */
export function callsHref(
  visit: AccountPageVisit,
  client: string,
  { additions, ...services }: AccountPageServices,
): string | undefined {
  return additions.map(({ callsHref }) => callsHref?.(visit, client, services))
    .find((href) => href !== undefined);
}
