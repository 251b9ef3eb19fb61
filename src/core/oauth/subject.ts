/**
 * Subjects: the names of people and machines here. Each is an issuer and the
 * issuer's own name, so that people of different issuers are never confused.
 *
 * @module
 */
import type { Identity } from "../caller.ts";

/** An issuer of JWTs that this server accepts: it says who people are. */
export interface TrustedIssuer {
  /** The exact `iss` of the issuer. */
  issuer: string;
  /** The tenant that is trusted, if the issuer serves several organizations. */
  tenant?: string;
}

/**
 * Prints an issuer as settings and grants have it: its address, then `#` and
 * the tenant if there is one. No issuer's address has a `#`.
 */
export function printIssuer({ issuer, tenant }: TrustedIssuer): string {
  return tenant === undefined ? issuer : `${issuer}#${tenant}`;
}

/** Parses the result of {@linkcode printIssuer}. */
export function parseIssuer(text: string): TrustedIssuer {
  const [issuer, ...rest] = text.split("#");
  const tenant = rest.join("#");
  return tenant === "" ? { issuer } : { issuer, tenant };
}

/** The prefix of the subjects of clients that act for themselves. */
export const MACHINE_ID = "client";

/**
 * Makes the prefix that keeps an issuer's subjects apart from another's: the
 * issuer without a slash at its end, which does not change the address of its
 * metadata. A tenant follows after `?`, which no issuer has (RFC 8414 §2).
 */
export function issuerId({ issuer, tenant }: TrustedIssuer): string {
  const { origin, pathname } = new URL(issuer);
  const place = origin + pathname.replace(/\/$/, "");
  return tenant === undefined
    ? place
    : `${place}?${encodeURIComponent(tenant)}`;
}

/**
 * Makes a person's subject here: `github:583231`, or
 * `https://id.example.com#42` with an issuer, which has no `#`.
 *
 * @param id `OAUTH_PROVIDER`, or an {@linkcode issuerId}
 */
export function subjectOf(
  id: string,
  { subject }: Pick<Identity, "subject">,
): string {
  return id.includes("/") ? `${id}#${subject}` : `${id}:${subject}`;
}

/**
 * Returns the binding of a caller with JWTs of an issuer. It has neither token
 * nor client: these come and go, the person stays.
 */
export function jwtBinding(id: string, name: string): string {
  return JSON.stringify([id, name]);
}

/**
 * Returns the issuer's ID and the person's name of a {@linkcode jwtBinding}.
 */
export function parseJwtBinding(
  binding: string,
): readonly [id: string, name: string] {
  return JSON.parse(binding);
}

/**
 * Returns the {@linkcode jwtBinding} of a person whose subject begins with an
 * issuer's address, and who may call with JWTs of it too; else undefined.
 */
export function jwtBindingOf(subject: string): string | undefined {
  const [, id, name] = /^(https?:\/\/[^#]*)#(.+)$/s.exec(subject) ?? [];
  return id === undefined ? undefined : jwtBinding(id, name);
}

/** Makes the subject of a client that acts for itself. */
export function machineSubject(clientId: string): string {
  return subjectOf(MACHINE_ID, { subject: clientId });
}

/** True for the subject of a client that acts for itself. */
export function isMachineSubject(subject: string): boolean {
  return subject.startsWith(machineSubject(""));
}

/** Finds the prefix with which a subject begins; undefined if none does. */
export function idOfSubject(
  text: string,
  ids: readonly string[],
): string | undefined {
  return ids.find((id) => text.startsWith(subjectOf(id, { subject: "" })));
}

/**
 * True if an issuer's name for a person begins like a subject of another
 * issuer.
 *
 * @param ids the prefixes of all subjects
 * @param own the prefix of the issuer
 */
export function isSubjectOfOther(
  name: string,
  ids: readonly string[],
  own?: string,
): boolean {
  const found = idOfSubject(name, ids.filter((id) => id !== own));
  return found !== undefined;
}
