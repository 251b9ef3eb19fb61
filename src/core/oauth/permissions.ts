/**
 * The permissions of people: the scopes that each person may be granted. At
 * consent a person chooses among them.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../caller.ts";
import { isAbout, isAddressEntry } from "./allowed_users.ts";
import {
  EntryError,
  type KnownNames,
  type ListEntry,
  parseListEntry,
} from "./list_entry.ts";
import { membershipName, type Person, withoutMemberships } from "./person.ts";

export interface PermissionRule {
  who: ListEntry;
  scopes: readonly string[] | "all";
}

interface RuleComplaint {
  /** The entry, or its part before the scopes. */
  got: string;
  /** The fault of the entry. */
  why: string;
  /** The way to fix the entry, if the fault is not about scopes. */
  fix?: string;
}

/** An author's own rule: returns the scopes that a person may be granted. */
export type DecidePermissions = (
  person: Person,
) => readonly string[] | "all";

const EVERY_SCOPE = "*";

/**
 * Parses `OAUTH_PERMISSIONS`: entries between semicolons or line ends, each
 * `who=scope scope …`. The last `=` of an entry separates, because the name of
 * a group may have `=` in it.
 *
 * @returns the rules, and the faults of the entries
 */
export function parsePermissions(
  text: string,
  /** All scopes of the server. */
  supported: readonly string[],
  known: KnownNames,
): { rules: PermissionRule[]; complaints: RuleComplaint[] } {
  const rules: PermissionRule[] = [];
  const complaints: RuleComplaint[] = [];
  for (const entry of text.split(/[;\n]/)) {
    if (entry.trim() === "") continue;
    const equals = entry.lastIndexOf("=");
    const name = entry.slice(0, Math.max(equals, 0)).trim();
    if (name === "") {
      complaints.push({ got: entry.trim(), why: "this is not who=scopes" });
      continue;
    }
    const scopes = entry.slice(equals + 1).split(/[\s,]+/).filter(Boolean);
    for (const scope of scopes) {
      if (scope !== EVERY_SCOPE && !supported.includes(scope)) {
        complaints.push({
          got: entry.trim(),
          why: `nothing needs the scope ${scope}`,
        });
      }
    }
    try {
      const who = parseListEntry(name, known, {
        takes: ["everyone", "membership"],
      });
      const isAll = scopes.includes(EVERY_SCOPE);
      rules.push({ who, scopes: isAll ? "all" : scopes });
    } catch (error) {
      if (!(error instanceof EntryError)) throw error;
      const { why, fix } = error;
      complaints.push({
        got: name,
        why: `this matches no one, because ${why}`,
        fix,
      });
    }
  }
  return { rules, complaints };
}

/** The kinds of memberships that the rules use. */
export interface NeededMemberships {
  /** The kinds to read, from the claims or from the provider's API. */
  memberships: ReadonlySet<Membership>;
  /** The kinds in the operator's rules, for which a scope is requested. */
  named: ReadonlySet<Membership>;
}

export type Permissions = NonNullable<ReturnType<typeof permissionsOf>>;

/**
 * The maximum number of characters that are stored of each kind of membership,
 * if an author's rule reads them.
 */
const MAX_KEPT_CHARACTERS = 8192;

/**
 * Makes the permissions of a server. Returns undefined if it has no rules, so
 * that everyone may be granted every scope. If the operator and the author both
 * have rules, both must allow a scope.
 */
export function permissionsOf(
  { rules, decide, supported }: {
    rules?: readonly PermissionRule[];
    /** The rule of `serve({ permissions })`. */
    decide?: DecidePermissions;
    /** All scopes of the server. */
    supported: readonly string[];
  },
) {
  if (rules === undefined && decide === undefined) return undefined;
  const names = new Set(
    rules?.flatMap(({ who }) =>
      "name" in who ? [`${who.kind} ${who.name}`] : []
    ),
  );

  function neededBy(rules: readonly PermissionRule[] = []): NeededMemberships {
    const kinds = new Set(rules.map(({ who }) => who.kind));
    const named = new Set(MEMBERSHIPS.filter((kind) => kinds.has(kind)));
    return { memberships: decide ? new Set(MEMBERSHIPS) : named, named };
  }

  function isKept(kind: Membership, name: string): boolean {
    return names.has(`${kind} ${membershipName(kind, name)}`);
  }

  function allowed(
    ...lists: readonly (readonly string[] | "all")[]
  ): readonly string[] {
    return supported.filter((scope) =>
      lists.every((scopes) => scopes === "all" || scopes.includes(scope))
    );
  }

  return {
    /**
     * The scopes that everyone may be granted, which a stranger is shown.
     * Without rules of the operator these are all that the author allows.
     */
    everyones: allowed(
      rules === undefined
        ? "all"
        : unionOf(rules.filter(({ who }) => who.kind === "everyone")),
    ),
    /**
     * Returns the scopes that a person may be granted, in the server's order.
     */
    ceiling(person: Person): readonly string[] {
      const byRule = rules === undefined ? "all" : unionOf(
        rules.filter(({ who }) => isAbout(who, person)),
      );
      return allowed(byRule, decide?.(person) ?? "all");
    },
    /** True if a rule names an e-mail address or a domain. */
    usesAddresses: rules?.some(({ who }) => isAddressEntry(who)) ?? false,
    ...neededBy(rules),
    /** Returns the memberships to read of people of one provider. */
    neededAt: (id: string): NeededMemberships =>
      neededBy(
        rules?.filter(({ who }) =>
          !("provider" in who) || (who.provider ?? id) === id
        ),
      ),
    /** Removes the memberships of an identity that no rule uses. */
    reduce(identity: Identity): Identity {
      const kept = withoutMemberships(identity);
      for (const kind of MEMBERSHIPS) {
        const names = identity[kind] ?? [];
        const some = decide === undefined
          ? names.filter((name) => isKept(kind, name))
          : truncate(
            [...names].sort((a, b) =>
              Number(isKept(kind, b)) - Number(isKept(kind, a))
            ),
          );
        if (some.length > 0) kept[kind] = some;
      }
      return kept;
    },
  };
}

function unionOf(rules: readonly PermissionRule[]): readonly string[] | "all" {
  if (rules.some(({ scopes }) => scopes === "all")) return "all";
  return rules.flatMap(({ scopes }) => scopes as readonly string[]);
}

/** Keeps the first names, as many as fit into `MAX_KEPT_CHARACTERS`. */
function truncate(names: readonly string[]): string[] {
  let characters = 0;
  return names.filter(({ length }) =>
    (characters += length) <= MAX_KEPT_CHARACTERS
  );
}
