/**
 * Who a person is, from what the provider says of them.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import { type MembershipClaims, membershipsIn } from "./memberships.ts";
import { UpstreamError } from "./upstream_error.ts";

/** Longer than any name or address; a longer one is left out. */
const MAX_LENGTH = 2048;

/** A provider's words where they are not OpenID's. */
export interface ClaimNames {
  /** The claim that says that the e-mail address was checked. */
  emailVerified?: string;
  /** Where it says what a person belongs to. */
  memberships?: MembershipClaims;
}

/**
 * An identity from OpenID claims, or from a plain provider's user object with
 * the names that are usual there (`id`, `login`, `username`, `avatar_url`).
 *
 * @throws {UpstreamError} `misbehaved` when no one is named
 * @see OpenID Connect Core §5.1
 */
export function parseIdentity(
  claims: Readonly<Record<string, unknown>>,
  { emailVerified = "email_verified", memberships = {} }: ClaimNames = {},
): Identity {
  const subject = parseSubject(claims.sub ?? claims.id);
  const email = text(claims.email);
  return defined({
    subject,
    name: text(claims.name),
    email,
    emailVerified: email && isTrue(claims[emailVerified]),
    login: text(claims.preferred_username) ?? text(claims.nickname) ??
      text(claims.login) ?? text(claims.username),
    picture: link(claims.picture) ?? link(claims.avatar_url),
    ...membershipsIn(claims, memberships),
  });
}

function parseSubject(value: unknown): string {
  // Numbers are how plain providers name their accounts.
  const subject = Number.isSafeInteger(value) ? String(value) : value;
  if (typeof subject === "string" && subject !== "" && subject.length <= 255) {
    return subject;
  }
  throw new UpstreamError("misbehaved", "The provider did not say who it was");
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

/** Some providers write booleans as text or numbers. */
function isTrue(value: unknown): boolean {
  return value === true || value === 1 || value === "true" || value === "1";
}

/** Without the members that nothing is known of. */
function defined(
  identity: {
    [K in keyof Identity]: Identity[K] | "" | undefined;
  },
): Identity {
  return Object.fromEntries(
    Object.entries(identity).filter(([, value]) => value !== undefined),
  ) as unknown as Identity;
}
