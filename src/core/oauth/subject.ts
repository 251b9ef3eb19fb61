/**
 * Subjects: the names of people and machines at this server. A subject starts
 * with its issuer, so that people of different issuers are never confused.
 *
 * @module
 */
import type { Identity } from "../caller.ts";

/** An issuer whose JWTs this server trusts to identify people. */
export interface TrustedIssuer {
  /** The exact `iss` of the issuer. */
  issuer: string;
  /** The trusted tenant, if the issuer serves several organizations. */
  tenant?: string;
}

/**
 * Formats an issuer as in settings and grants: its URL, then `#` and the
 * tenant, if any. The URL itself has no `#`.
 */
export function printIssuer({ issuer, tenant }: TrustedIssuer): string {
  return tenant === undefined ? issuer : `${issuer}#${tenant}`;
}

export function parseIssuer(text: string): TrustedIssuer {
  const [issuer, ...rest] = text.split("#");
  const tenant = rest.join("#");
  return tenant === "" ? { issuer } : { issuer, tenant };
}

/** The prefix of the subjects of machines. */
export const MACHINE_ID = "client";

/**
 * Returns the prefix of an issuer's subjects: its URL without a final slash,
 * then `?` and the tenant, if any. An issuer's URL has no `?` (RFC 8414 §2).
 */
export function issuerId({ issuer, tenant }: TrustedIssuer): string {
  const { origin, pathname } = new URL(issuer);
  const place = origin + pathname.replace(/\/$/, "");
  return tenant === undefined
    ? place
    : `${place}?${encodeURIComponent(tenant)}`;
}

/**
 * Makes a person's subject: `github:583231`, or `https://id.example.com#42` for
 * an issuer. An issuer has no `#`.
 * @param id `OAUTH_PROVIDER`, or an {@linkcode issuerId}
 */
export function subjectOf(
  id: string,
  { subject }: Pick<Identity, "subject">,
): string {
  return id.includes("/") ? `${id}#${subject}` : `${id}:${subject}`;
}

/**
 * Returns the `binding` of a person who calls with JWTs: the issuer's id and
 * its name for the person. It does not contain the token or the client, which
 * may change.
 */
export function jwtBinding(id: string, name: string): string {
  return JSON.stringify([id, name]);
}

export function parseJwtBinding(
  binding: string,
): readonly [id: string, name: string] {
  return JSON.parse(binding);
}

/**
 * Returns the {@linkcode jwtBinding} of a subject that starts with an issuer's
 * URL. Undefined for other subjects, which cannot come from a JWT.
 */
export function jwtBindingOf(subject: string): string | undefined {
  const [, id, name] = /^(https?:\/\/[^#]*)#(.+)$/s.exec(subject) ?? [];
  return id === undefined ? undefined : jwtBinding(id, name);
}

export function machineSubject(clientId: string): string {
  return subjectOf(MACHINE_ID, { subject: clientId });
}

export function isMachineSubject(subject: string): boolean {
  return subject.startsWith(machineSubject(""));
}

/**
 * Returns the one of `ids` that is the prefix of a subject; undefined if none
 * is.
 */
export function idOfSubject(
  text: string,
  ids: readonly string[],
): string | undefined {
  return ids.find((id) => text.startsWith(subjectOf(id, { subject: "" })));
}

/**
 * True if an issuer's name for a person looks like a subject of another issuer.
 * @param ids the prefixes of all subjects
 * @param own the issuer's prefix
 */
export function isSubjectOfOther(
  name: string,
  ids: readonly string[],
  own?: string,
): boolean {
  const found = idOfSubject(name, ids.filter((id) => id !== own));
  return found !== undefined;
}
