/**
 * Subjects: the names of people and machines at this server. Each consists of
 * an issuer and the name that the issuer gave, so that people of different
 * issuers are never confused.
 *
 * @module
 */
import type { Identity } from "../caller.ts";

/** An issuer of JWTs that this server trusts to identify people. */
export interface TrustedIssuer {
  /** The exact `iss` of the issuer. */
  issuer: string;
  /** The tenant that is trusted, if the issuer serves several organizations. */
  tenant?: string;
}

/**
 * Formats an issuer as settings and grants have it: its URL, then `#` and the
 * tenant if there is one. The URL of an issuer has no `#`.
 */
export function printIssuer({ issuer, tenant }: TrustedIssuer): string {
  return tenant === undefined ? issuer : `${issuer}#${tenant}`;
}

/** Parses an issuer that {@linkcode printIssuer} formatted. */
export function parseIssuer(text: string): TrustedIssuer {
  const [issuer, ...rest] = text.split("#");
  const tenant = rest.join("#");
  return tenant === "" ? { issuer } : { issuer, tenant };
}

/** The prefix of the subjects of machines. */
export const MACHINE_ID = "client";

/**
 * Returns the prefix of an issuer's subjects: the issuer without a slash at its
 * end, which does not change the URL of its metadata, and `?` with the tenant
 * if there is one. No issuer has a `?` (RFC 8414 §2).
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
 * an issuer, which has no `#`.
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
 * Returns the binding of a person who calls with JWTs of an issuer. It names
 * neither token nor client: these come and go, the person stays.
 */
export function jwtBinding(id: string, name: string): string {
  return JSON.stringify([id, name]);
}

/** Parses a {@linkcode jwtBinding}. */
export function parseJwtBinding(
  binding: string,
): readonly [id: string, name: string] {
  return JSON.parse(binding);
}

/**
 * Returns the {@linkcode jwtBinding} of a person whose subject begins with an
 * issuer's URL, because that person may also call with JWTs of the issuer.
 * Returns undefined for other subjects.
 */
export function jwtBindingOf(subject: string): string | undefined {
  const [, id, name] = /^(https?:\/\/[^#]*)#(.+)$/s.exec(subject) ?? [];
  return id === undefined ? undefined : jwtBinding(id, name);
}

/** Makes the subject of a machine. */
export function machineSubject(clientId: string): string {
  return subjectOf(MACHINE_ID, { subject: clientId });
}

/** True for the subject of a machine. */
export function isMachineSubject(subject: string): boolean {
  return subject.startsWith(machineSubject(""));
}

/**
 * Returns the prefix with which a subject begins; undefined if it is none of
 * `ids`.
 */
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
