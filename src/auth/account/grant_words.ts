/**
 * Grants in the form that the account page shows.
 *
 * @module
 */
import { bindingOf, type Grant, isPassing } from "../rules/grant.ts";
import { OFFLINE_ACCESS } from "../rules/scope.ts";
import type { ConnectionInWords } from "../../pages/connections_section.tsx";
import type { ScopeInWords } from "../../pages/consent_page.tsx";
import type { TokenInWords } from "../../pages/token_section.tsx";
import type { SessionCounts, SessionStore } from "../../store/sessions.ts";

/** The sources for describing grants. */
export interface WordSources {
  sessions: Pick<SessionStore, "countsOf">;
  inWords(scopes: readonly string[]): ScopeInWords[];
}

/**
 * Makes the counter of the sessions of grants; most of one person have one
 * binding.
 *
 * @param most how many are counted of a binding
 */
export function sessionCounts(
  { sessions }: Pick<WordSources, "sessions">,
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
  { inWords }: Pick<WordSources, "inWords">,
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
    removable: isPassing(grant) ? [] : removable(scopes, inWords),
    sessions: sessions.of.get(grantId) ?? 0,
    hasMoreSessions: sessions.isCut,
  };
}

/** Describes an access token for the person who made it. */
export function tokenInWords(
  grant: Grant,
  { inWords }: Pick<WordSources, "inWords">,
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
    removable: removable(scopes, inWords),
  };
}

function removable(
  scopes: readonly string[],
  inWords: WordSources["inWords"],
): ScopeInWords[] {
  return inWords(scopes.filter((scope) => scope !== OFFLINE_ACCESS));
}

/** Names the client of a grant, and an access token as such. */
export function clientNameOf({ kind, clientName }: Grant): string {
  return kind === "token" ? `${clientName} (access token)` : clientName;
}
