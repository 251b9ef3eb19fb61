/**
 * Parses a person's identity and memberships from the provider's claims.
 *
 * @module
 */
import { type Identity, type Membership, MEMBERSHIPS } from "../caller.ts";
import { misbehaved } from "./provider.ts";
import { valueAt } from "../json.ts";

/** The maximum length of a text claim; a longer one is ignored. */
const MAX_LENGTH = 2048;

/** A provider's claim names, if they differ from OpenID Connect's. */
export interface ClaimNames {
  /** The claim that says that the e-mail address was verified. */
  emailVerified?: string;
  /**
   * True if the claims prove that the organization owns the domain of the
   * verified address.
   */
  isOwnAddress?(
    email: string,
    claims: Readonly<Record<string, unknown>>,
  ): boolean;
  memberships?: MembershipClaims;
  /** True if no other organization can have a membership of this name. */
  isUnique?(membership: string): boolean;
}

/**
 * Parses an identity from OpenID claims, or from the user object of an OAuth
 * provider with the usual names (`id`, `login`, `username`, `avatar_url`).
 *
 * @throws {UpstreamError} `misbehaved` if there is no subject
 * @see OpenID Connect Core §5.1
 */
export function parseIdentity(
  claims: Readonly<Record<string, unknown>>,
  {
    emailVerified = "email_verified",
    isOwnAddress = () => true,
    memberships = {},
    isUnique,
  }: ClaimNames = {},
): Identity {
  const subject = parseSubject(claims.sub ?? claims.id);
  const email = claimText(claims.email);
  return defined({
    subject,
    name: claimText(claims.name),
    email,
    emailVerified: email && isTrueClaim(claims[emailVerified]) &&
      isOwnAddress(email, claims),
    login: claimText(claims.preferred_username) ?? claimText(claims.nickname) ??
      claimText(claims.login) ?? claimText(claims.username),
    picture: link(claims.picture) ?? link(claims.avatar_url),
    ...membershipsInClaims(claims, memberships, isUnique),
  });
}

function parseSubject(value: unknown): string {
  // Providers without OpenID often identify accounts by numbers.
  const subject = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof subject === "string" && subject !== "" && subject.length <= 255) {
    return subject;
  }
  throw misbehaved("The provider must name the person by a sub or an id");
}

/** Returns a text claim; undefined if it is no text, empty or too long. */
export function claimText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" &&
      value.length <= MAX_LENGTH
    ? value
    : undefined;
}

function link(value: unknown): string | undefined {
  const address = claimText(value);
  return address?.startsWith("https://") ? address : undefined;
}

/**
 * Returns true for `true`, also as the string or number that some issuers send.
 */
export function isTrueClaim(value: unknown): boolean {
  return value === true || value === 1 || value === "true" || value === "1";
}

function defined(
  identity: {
    [K in keyof Identity]: Identity[K] | "" | undefined;
  },
): Identity {
  return Object.fromEntries(
    Object.entries(identity).filter(([, value]) => value !== undefined),
  ) as unknown as Identity;
}

/** The issuer of Google, which is the same for all organizations. */
export const GOOGLE_ISSUER = "https://accounts.google.com";

const CONSUMER_DOMAINS = ["gmail.com", "googlemail.com"];

/**
 * True if Google, or the organization of the address, manages the account with
 * this verified address. Anyone can open a consumer account with their
 * company's address. After they leave the company, Google still reports the
 * address as verified. Only `hd` proves that the organization manages the
 * account.
 * @see
 * https://developers.google.com/identity/gsi/web/guides/verify-google-id-token
 */
export function isGoogleAddress(
  email: string,
  { hd }: Readonly<Record<string, unknown>>,
): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return CONSUMER_DOMAINS.includes(domain) ||
    typeof hd === "string" && hd.toLowerCase() === domain;
}

/**
 * Returns {@linkcode isGoogleAddress} for Google's issuer, undefined for
 * others.
 */
export function addressRuleOf(
  issuer: string,
): typeof isGoogleAddress | undefined {
  const isGoogle = issuer.replace(/\/$/, "").toLowerCase() === GOOGLE_ISSUER ||
    issuer === "accounts.google.com";
  return isGoogle ? isGoogleAddress : undefined;
}

/**
 * For each kind of membership, the claims that may hold it. The first one
 * present is used.
 */
export type MembershipClaims = Partial<
  Readonly<Record<Membership, readonly string[]>>
>;

/** Lists the claims that hold memberships at providers without a preset. */
export function usualMembershipClaims(
  { groupsClaim = "groups" }: { groupsClaim?: string } = {},
): MembershipClaims {
  return {
    groups: [groupsClaim],
    // `realm_access.roles` is Keycloak's.
    roles: ["roles", "realm_access.roles"],
    organizations: ["org_id"],
  };
}

/** The maximum number of names of one kind. */
const MAX_NAMES = 1000;
const MAX_CHARACTERS = 255;

/**
 * Returns a claim by its name, which may contain dots and slashes
 * (`https://example.com/groups`). If there is none, the name is a path with
 * dots (`realm_access.roles`).
 */
export function claimAt(
  claims: Readonly<Record<string, unknown>>,
  path: string,
): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  return valueAt(claims, path.split("."));
}

/** Returns the names in a claim: an array of strings, or one string. */
export function namesInClaim(value: unknown): string[] {
  const names = Array.isArray(value) ? value : [value];
  return [
    ...new Set(
      names.filter((name): name is string =>
        typeof name === "string" && name !== "" && name.length <= MAX_CHARACTERS
      ),
    ),
  ].slice(0, MAX_NAMES);
}

export function membershipsInClaims(
  claims: Readonly<Record<string, unknown>>,
  paths: MembershipClaims,
  isUnique: ClaimNames["isUnique"] = () => true,
): Partial<Record<Membership, string[]>> {
  const found: Partial<Record<Membership, string[]>> = {};
  for (const kind of MEMBERSHIPS) {
    const names = namesInClaim(firstClaim(claims, paths[kind])).filter(
      isUnique,
    );
    if (names.length > 0) found[kind] = names;
  }
  return found;
}

/**
 * Lists the needed kinds of memberships whose claims, named by `paths`, are
 * absent.
 */
export function missingMemberships(
  claims: Readonly<Record<string, unknown>>,
  paths: MembershipClaims = {},
  needed: ReadonlySet<Membership>,
): Membership[] {
  return MEMBERSHIPS.filter((kind) =>
    needed.has(kind) && paths[kind] !== undefined &&
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

/**
 * Merges userinfo into claims. If userinfo has an `email`, `email_verified` is
 * taken from there; otherwise from the claims.
 */
export function mergeClaims(
  claims: Record<string, unknown>,
  info: Record<string, unknown>,
): Record<string, unknown> {
  const { email_verified } = info.email === undefined ? claims : info;
  return { ...claims, ...info, email_verified };
}
