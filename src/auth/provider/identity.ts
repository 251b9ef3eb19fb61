/**
 * The identity of a person, from the provider's claims.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";
import { type MembershipClaims, membershipsIn } from "./memberships.ts";
import { misbehaved } from "./provider.ts";

/** The longest name or address; a longer one is left out. */
export const MAX_LENGTH = 2048;

/** A provider's own claim names, if they are not OpenID's. */
export interface ClaimNames {
  /** The claim that tells that the e-mail address was checked. */
  emailVerified?: string;
  /** Returns true if the provider gives out an address that it calls verified. */
  isOwnAddress?(
    email: string,
    claims: Readonly<Record<string, unknown>>,
  ): boolean;
  /** The claims that hold memberships. */
  memberships?: MembershipClaims;
}

/**
 * Parses an identity from OpenID claims, or from a plain provider's user object
 * with the usual names (`id`, `login`, `username`, `avatar_url`).
 *
 * @throws {UpstreamError} `misbehaved` when there is no subject
 * @see OpenID Connect Core §5.1
 */
export function parseIdentity(
  claims: Readonly<Record<string, unknown>>,
  {
    emailVerified = "email_verified",
    isOwnAddress = () => true,
    memberships = {},
  }: ClaimNames = {},
): Identity {
  const subject = parseSubject(claims.sub ?? claims.id);
  const email = text(claims.email);
  return defined({
    subject,
    name: text(claims.name),
    email,
    emailVerified: email && isTrue(claims[emailVerified]) &&
      isOwnAddress(email, claims),
    login: text(claims.preferred_username) ?? text(claims.nickname) ??
      text(claims.login) ?? text(claims.username),
    picture: link(claims.picture) ?? link(claims.avatar_url),
    ...membershipsIn(claims, memberships),
  });
}

function parseSubject(value: unknown): string {
  // Plain providers often identify accounts by numbers.
  const subject = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof subject === "string" && subject !== "" && subject.length <= 255) {
    return subject;
  }
  throw misbehaved("The provider did not say who it was");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" &&
      value.length <= MAX_LENGTH
    ? value
    : undefined;
}

function link(value: unknown): string | undefined {
  const address = text(value);
  return address?.startsWith("https://") ? address : undefined;
}

/** Returns true for a true claim: some issuers write it as text or a number. */
export function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === "true" || value === "1";
}

/** Drops the members that are not known. */
function defined(
  identity: {
    [K in keyof Identity]: Identity[K] | "" | undefined;
  },
): Identity {
  return Object.fromEntries(
    Object.entries(identity).filter(([, value]) => value !== undefined),
  ) as unknown as Identity;
}

/** Google's own issuer, for people of every organization. */
export const GOOGLE_ISSUER = "https://accounts.google.com";

const CONSUMER_DOMAINS = ["gmail.com", "googlemail.com"];

/**
 * Returns true if Google itself gives out an address. Anyone can open a consumer
 * account with an address of their company, keep it when they leave, and
 * Google goes on calling it verified: only `hd` says that the domain's
 * organization manages the account.
 *
 * @see https://developers.google.com/identity/gsi/web/guides/verify-google-id-token
 */
export function isGoogleAddress(
  email: string,
  { hd }: Readonly<Record<string, unknown>>,
): boolean {
  const domain = email.slice(email.lastIndexOf("@") + 1).toLowerCase();
  return CONSUMER_DOMAINS.includes(domain) ||
    typeof hd === "string" && hd.toLowerCase() === domain;
}

/** Finds the rule for addresses of an issuer, which may be Google by another setting. */
export function addressRuleOf(
  issuer: string,
): typeof isGoogleAddress | undefined {
  const isGoogle = issuer.replace(/\/$/, "").toLowerCase() === GOOGLE_ISSUER ||
    issuer === "accounts.google.com";
  return isGoogle ? isGoogleAddress : undefined;
}
