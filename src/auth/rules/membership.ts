/**
 * Memberships of people: their names, and their notation in settings.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../../caller.ts";

const MEMBERSHIP_OF: Readonly<Record<string, Membership>> = {
  group: "groups",
  role: "roles",
  org: "organizations",
  team: "teams",
};

/** Parses `role:editor`, `org:acme`, …; without a prefix it is a group. */
export function parseMembership(
  text: string,
): { kind: Membership; name: string; isPrefixed: boolean } {
  const [, prefix, name] = /^(\w+):(.+)/s.exec(text) ?? [];
  return Object.hasOwn(MEMBERSHIP_OF, prefix)
    ? { kind: MEMBERSHIP_OF[prefix], name: name.trim(), isPrefixed: true }
    : { kind: "groups", name: text, isPrefixed: false };
}

/** Lowercases organizations and teams: GitHub ignores their case. */
export function membershipName(kind: Membership, name: string): string {
  return kind === "organizations" || kind === "teams"
    ? name.toLowerCase()
    : name;
}

/** Gives the prefix of a kind of membership, without its colon. */
export function prefixOf(kind: Membership): string {
  return Object.keys(MEMBERSHIP_OF).find((it) => MEMBERSHIP_OF[it] === kind)!;
}

/** Copies an identity without its memberships. */
export function withoutMemberships(identity: Identity): Identity {
  const rest = { ...identity };
  for (const kind of MEMBERSHIPS) delete rest[kind];
  return rest;
}
