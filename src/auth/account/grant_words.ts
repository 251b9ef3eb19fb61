/**
 * Grants in the form that the account page shows.
 *
 * @module
 */
import { bindingOf, type Grant, isPassing } from "../rules/grant.ts";
import { OFFLINE_ACCESS } from "../rules/scope.ts";
import type { ConnectionInWords } from "../../pages/account_page.tsx";
import type { ScopeInWords } from "../../pages/consent_page.tsx";
import type { TokenInWords } from "../../pages/token_section.tsx";
import type { NotedCall } from "../../store/call_list.ts";
import type { SessionCounts, SessionStore } from "../../store/sessions.ts";

/** The sources for describing grants. */
export interface WordSources {
  sessions: Pick<SessionStore, "countsOf">;
  inWords(scopes: readonly string[]): ScopeInWords[];
}

/** Counts the sessions of a person's grants; most have one binding. */
export async function countSessions(
  grants: readonly Grant[],
  { sessions }: Pick<WordSources, "sessions">,
  most?: number,
): Promise<SessionCounts> {
  const bindings = new Set(grants.map(bindingOf));
  const counts = await Promise.all(
    [...bindings].map((binding) => sessions.countsOf(binding, most)),
  );
  return {
    of: new Map(counts.flatMap(({ of }) => [...of])),
    isCut: counts.some(({ isCut }) => isCut),
  };
}

/** Describes a connection for its person. */
export function connectionInWords(
  grant: Grant,
  { inWords }: Pick<WordSources, "inWords">,
  { sessions, calls }: {
    sessions: SessionCounts;
    calls?: readonly NotedCall[];
  },
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
    calls,
    sessions: sessions.of.get(grantId) ?? 0,
    hasMoreSessions: sessions.isCut,
  };
}

/** Describes an access token for the person who made it. */
export function tokenInWords(
  grant: Grant,
  { inWords }: Pick<WordSources, "inWords">,
  calls?: readonly NotedCall[],
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
    calls,
  };
}

function removable(
  scopes: readonly string[],
  inWords: WordSources["inWords"],
): ScopeInWords[] {
  return inWords(scopes.filter((scope) => scope !== OFFLINE_ACCESS));
}
