/**
 * Permissions: the scopes that each person may be granted, by rules of the
 * operator and the author. On the consent page, the person chooses among them.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../caller.ts";
import { isAddressEntry, matchesPerson } from "./allowed_users.ts";
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
  /** The invalid entry, or its part before the scopes. */
  got: string;
  /** The mistake in the entry. */
  why: string;
  /** The advice, if the mistake is not about scopes. */
  fix?: string;
}

/** The author's rule: returns the scopes that a person may be granted. */
export type DecidePermissions = (
  person: Person,
) => readonly string[] | "all";

const EVERY_SCOPE = "*";

/**
 * Parses `OAUTH_PERMISSIONS`: entries of the form `who=scope scope …`,
 * separated by semicolons or line ends. Each is split at its last `=`, because
 * a group's name may have an `=`.
 * @returns the rules, and the mistakes
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

/** The kinds of memberships that rules use. */
export interface NeededMemberships {
  /** The kinds to read from the provider. */
  memberships: ReadonlySet<Membership>;
  /**
   * The kinds in the operator's rules. A scope is requested from the provider
   * for these.
   */
  named: ReadonlySet<Membership>;
}

export type Permissions = NonNullable<ReturnType<typeof permissionsOf>>;

/**
 * The maximum number of characters to store for each kind of membership, if the
 * author's rule uses it.
 */
const MAX_KEPT_CHARACTERS = 8192;

/**
 * Makes the permissions of a server. Undefined without any rules: then everyone
 * may be granted every scope. If both operator and author have rules, both must
 * allow a scope.
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
     * The scopes that everyone may be granted, which anonymous callers see; all
     * scopes if the operator has no rules.
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
        rules.filter(({ who }) => matchesPerson(who, person)),
      );
      return allowed(byRule, decide?.(person) ?? "all");
    },
    /** True if a rule names an e-mail address or a domain. */
    usesAddresses: rules?.some(({ who }) => isAddressEntry(who)) ?? false,
    ...neededBy(rules),
    /** Returns the kinds of memberships to read for one provider's people. */
    neededAt: (id: string): NeededMemberships =>
      neededBy(
        rules?.filter(({ who }) =>
          !("provider" in who) || (who.provider ?? id) === id
        ),
      ),
    /** Removes memberships that no rule uses. */
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

/** Keeps as many names as fit into `MAX_KEPT_CHARACTERS`. */
function truncate(names: readonly string[]): string[] {
  let characters = 0;
  return names.filter(({ length }) =>
    (characters += length) <= MAX_KEPT_CHARACTERS
  );
}
