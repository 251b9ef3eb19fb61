/**
 * Who may be granted what. Consent says what a person wants to give; this says
 * what they have.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../caller.ts";
import { isAllowed } from "./allowed_users.ts";

/** Whom a rule is about: a person, everyone, or members of something. */
type Who =
  | { kind: "everyone" }
  | { kind: "user"; entry: string }
  | { kind: Membership; name: string };

/** One entry of `OAUTH_PERMISSIONS`. */
export interface PermissionRule {
  who: Who;
  scopes: readonly string[] | "all";
}

/** Who is asked about. */
export interface Person {
  /** The stable subject here, with the provider's name: `github:583231`. */
  subject: string;
  /** What the provider says of them. */
  identity: Identity;
}

/** An author's own rule: the scopes that a person may be granted. */
export type DecidePermissions = (
  person: Person,
) => readonly string[] | "all";

const PREFIXES: Readonly<Record<string, Membership>> = {
  group: "groups",
  role: "roles",
  org: "organizations",
  team: "teams",
};

/** Everyone, or every scope. */
const EVERYONE = "*";

/**
 * Parses `OAUTH_PERMISSIONS`: entries between semicolons or line ends, each
 * `who=scope scope …`. Names of groups may hold `=`: the last one counts.
 *
 * @returns the rules, and what is wrong with the entries
 */
export function parsePermissions(
  text: string,
  /** What there is to grant. */
  supported: readonly string[],
): { rules: PermissionRule[]; complaints: string[] } {
  const rules: PermissionRule[] = [];
  const complaints: string[] = [];
  for (const entry of text.split(/[;\n]/)) {
    if (entry.trim() === "") continue;
    const equals = entry.lastIndexOf("=");
    const name = entry.slice(0, Math.max(equals, 0)).trim();
    const who = parseWho(name);
    if (who === undefined) {
      complaints.push(`${entry.trim()}: is not who=scopes`);
      continue;
    }
    const scopes = entry.slice(equals + 1).split(/[\s,]+/).filter(Boolean);
    for (const scope of scopes) {
      if (scope !== EVERYONE && !supported.includes(scope)) {
        complaints.push(`${name}: nothing needs the scope ${scope}`);
      }
    }
    rules.push({ who, scopes: scopes.includes(EVERYONE) ? "all" : scopes });
  }
  return { rules, complaints };
}

function parseWho(text: string): Who | undefined {
  if (text === "") return undefined;
  if (text === EVERYONE) return { kind: "everyone" };
  const { kind, name, isPrefixed } = parseMembership(text);
  if (!isPrefixed) return { kind: "user", entry: text };
  return { kind, name: nameOf(kind, name) };
}

/** `role:editor`, `org:acme`, …; without a prefix it is a group. */
export function parseMembership(
  text: string,
): { kind: Membership; name: string; isPrefixed: boolean } {
  const [, prefix, name] = /^(\w+):(.+)/s.exec(text) ?? [];
  return Object.hasOwn(PREFIXES, prefix)
    ? { kind: PREFIXES[prefix], name: name.trim(), isPrefixed: true }
    : { kind: "groups", name: text, isPrefixed: false };
}

/** GitHub knows its organizations and teams in any case of letters. */
function nameOf(kind: Membership, name: string): string {
  return kind === "organizations" || kind === "teams"
    ? name.toLowerCase()
    : name;
}

function matches(who: Who, { subject, identity }: Person): boolean {
  switch (who.kind) {
    case "everyone":
      return true;
    case "user":
      return who.entry === subject || isAllowed(identity, [who.entry]);
    default:
      return identity[who.kind]?.some((name) =>
        nameOf(who.kind as Membership, name) === who.name
      ) ?? false;
  }
}

/** What is known of a person apart from what they belong to. */
export function withoutMemberships(identity: Identity): Identity {
  const rest = { ...identity };
  for (const kind of MEMBERSHIPS) delete rest[kind];
  return rest;
}

/** What has to be known of people beyond their account. */
export interface Wanted {
  /** What a provider tells anyway, or when it is asked. */
  memberships: ReadonlySet<Membership>;
  /** What is worth a scope of its own at the provider. */
  named: ReadonlySet<Membership>;
}

/** The permissions of a server. */
export interface Permissions extends Wanted {
  /** The scopes that a person may be granted, in the server's order. */
  ceiling(person: Person): readonly string[];
  /**
   * The scopes that the rules give everyone: what a stranger may know of.
   * Without rules that is everything.
   */
  everyones: readonly string[];
  /** An identity with no more memberships than the rules look at. */
  keep(identity: Identity): Identity;
}

/** Characters of a list of memberships that are kept for an author's rule. */
const KEPT_CHARACTERS = 8192;

/**
 * The permissions of a server; undefined where no one set any, and everyone
 * may be granted everything. An operator's rules and an author's together
 * allow what both allow.
 */
export function permissionsOf(
  { rules, decide, supported }: {
    /** Of `OAUTH_PERMISSIONS`. */
    rules?: readonly PermissionRule[];
    /** Of `serve({ permissions })`. */
    decide?: DecidePermissions;
    /** What there is to grant. */
    supported: readonly string[];
  },
): Permissions | undefined {
  if (rules === undefined && decide === undefined) return undefined;
  const names = new Set(
    rules?.flatMap(({ who }) =>
      "name" in who ? [`${who.kind} ${who.name}`] : []
    ),
  );
  const kinds = new Set(rules?.map(({ who }) => who.kind));
  const named = new Set(MEMBERSHIPS.filter((kind) => kinds.has(kind)));

  function isKept(kind: Membership, name: string): boolean {
    return names.has(`${kind} ${nameOf(kind, name)}`);
  }

  function allowed(
    ...lists: readonly (readonly string[] | "all")[]
  ): readonly string[] {
    return supported.filter((scope) =>
      lists.every((scopes) => scopes === "all" || scopes.includes(scope))
    );
  }

  return {
    everyones: allowed(
      rules === undefined
        ? "all"
        : unionOf(rules.filter(({ who }) => who.kind === "everyone")),
    ),
    ceiling(person) {
      const byRule = rules === undefined ? "all" : unionOf(
        rules.filter(({ who }) => matches(who, person)),
      );
      return allowed(byRule, decide?.(person) ?? "all");
    },
    memberships: decide ? new Set(MEMBERSHIPS) : named,
    named,
    keep(identity) {
      const kept = withoutMemberships(identity);
      for (const kind of MEMBERSHIPS) {
        const names = identity[kind] ?? [];
        const some = decide === undefined
          ? names.filter((name) => isKept(kind, name))
          : cut(
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

function unionOf(
  rules: readonly PermissionRule[],
): readonly string[] | "all" {
  if (rules.some(({ scopes }) => scopes === "all")) return "all";
  return rules.flatMap(({ scopes }) => scopes as readonly string[]);
}

/** As many names as fit into a grant. */
function cut(names: readonly string[]): string[] {
  let characters = 0;
  return names.filter(({ length }) =>
    (characters += length) <= KEPT_CHARACTERS
  );
}
