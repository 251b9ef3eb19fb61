/**
 * What a person belongs to, in a provider's claims.
 *
 * @module
 */
import { type Membership, MEMBERSHIPS } from "../caller.ts";
import { isObject } from "../json.ts";

/** Where a provider's claims hold each kind: the first path that is there. */
export type MembershipClaims = Partial<
  Readonly<Record<Membership, readonly string[]>>
>;

/** Names of one kind that are looked at, and characters of one name. */
const MAX_NAMES = 1000;
const MAX_CHARACTERS = 255;

/**
 * A claim by its path: its literal name first, because names hold dots and
 * slashes (`https://example.com/groups`), then from object to object along the
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

/** The names in a claim: an array of strings, or one string. */
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

/** Everything that claims say a person belongs to. */
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

/** Whether claims are silent about a kind that is wanted and may be told. */
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
