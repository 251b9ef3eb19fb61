/**
 * The memberships of a person in a provider's claims.
 *
 * @module
 */
import { type Membership, MEMBERSHIPS } from "../../caller.ts";
import { isObject } from "../../json.ts";

/** The claims that may hold each kind; the first one present counts. */
export type MembershipClaims = Partial<
  Readonly<Record<Membership, readonly string[]>>
>;

/** Lists the claims that hold memberships at providers without a preset. */
export function usualClaims(
  { groupsClaim = "groups" }: { groupsClaim?: string } = {},
): MembershipClaims {
  return {
    groups: [groupsClaim],
    // The second is Keycloak's.
    roles: ["roles", "realm_access.roles"],
    organizations: ["org_id"],
  };
}

/** The most names of one kind, and the most characters of one name. */
const MAX_NAMES = 1000;
const MAX_CHARACTERS = 255;

/**
 * Finds a claim by its path: by its literal name first, because names may
 * contain dots and slashes (`https://example.com/groups`), then by the path of
 * dots (`realm_access.roles`).
 */
export function claimAt(
  claims: Readonly<Record<string, unknown>>,
  path: string,
): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split(".")) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Reads the names in a claim: an array of strings, or one string. */
export function namesIn(value: unknown): string[] {
  const names = Array.isArray(value) ? value : [value];
  return [
    ...new Set(
      names.filter((name): name is string =>
        typeof name === "string" && name !== "" && name.length <= MAX_CHARACTERS
      ),
    ),
  ].slice(0, MAX_NAMES);
}

/** Finds all memberships in claims. */
export function membershipsIn(
  claims: Readonly<Record<string, unknown>>,
  paths: MembershipClaims,
): Partial<Record<Membership, string[]>> {
  const found: Partial<Record<Membership, string[]>> = {};
  for (const kind of MEMBERSHIPS) {
    const names = namesIn(firstClaim(claims, paths[kind]));
    if (names.length > 0) found[kind] = names;
  }
  return found;
}

/** True if the claims lack a wanted kind for which there is a path. */
export function lacksMemberships(
  claims: Readonly<Record<string, unknown>>,
  paths: MembershipClaims,
  wanted: ReadonlySet<Membership>,
): boolean {
  return MEMBERSHIPS.some((kind) =>
    wanted.has(kind) && paths[kind] !== undefined &&
    firstClaim(claims, paths[kind]) === undefined
  );
}

function firstClaim(
  claims: Readonly<Record<string, unknown>>,
  paths: readonly string[] = [],
): unknown {
  return paths.map((path) => claimAt(claims, path))
    .find((value) => value !== undefined);
}
