/**
 * Former subjects: version 0.2 wrote an issuer without its scheme, and a colon
 * before the name, as `id.example.com:8443/t1:42`. What it stored is read as if
 * it had been written today. No two people shared a former subject.
 *
 * @module
 */
import { isLoopback } from "../net/url.ts";
import { parseIssuer } from "./identity_assertion.ts";
import type { Person } from "./person.ts";
import { issuerId, MACHINE_ID, subjectOf } from "./subject.ts";

/** The prefixes that are no hosts; a host with such a name had its scheme. */
const NAMES = [
  "github",
  "google",
  "microsoft",
  "gitlab",
  "dev",
  MACHINE_ID,
  "https",
];

/** A prefix that has a port or a path after its host. */
const WITH_PORT_OR_PATH = /^(?:\[[^\]]*\]|[^[:/?#\\]*)[:/?#\\]/;

/** A name that would look like a port; it had an empty port before it. */
const LIKE_A_PORT = /^\d*(?:[/?#\\][^:]*)?:/;

/** A record of a person, or of an identity provider's word for one. */
interface PersonRecord extends Person {
  assertedBy?: string;
}

/**
 * Gives the former prefix of an issuer's subjects; undefined where it could be
 * that of another: of https on this machine, where http is usual, and of a port
 * at a host with a name of ours, as in `client:1:a`.
 */
function formerIdOf(id: string): string | undefined {
  const [place, tenant] = id.split("?");
  const url = URL.parse(place);
  if (!url || !place.startsWith(url.origin)) return undefined;
  if (url.protocol !== schemeOf(url)) return undefined;
  if (url.port !== "" && NAMES.includes(url.hostname)) return undefined;
  const path = place.slice(url.origin.length).replace(
    /%(?:25)*3A|:/gi,
    (colon) => colon === ":" ? "%3A" : `%25${colon.slice(1)}`,
  );
  const former = url.host + path + (tenant === undefined ? "" : `#${tenant}`);
  return NAMES.includes(former) ? `https://${former}` : former;
}

function schemeOf(url: URL): string {
  return isLoopback(url) ? "http:" : "https:";
}

/**
 * Guesses the issuer that had a former prefix; the caller checks it by making
 * the former prefix again.
 */
function idOfFormer(former: string): string | undefined {
  const [where, tenant] = former.split("#");
  const place = where.replace(/^https:\/\//, "").replace(
    /%(?:25)*3A/gi,
    (colon) => colon.length === 3 ? ":" : `%${colon.slice(3)}`,
  );
  const url = URL.parse(`https://${place}`);
  if (!url) return undefined;
  const organization = tenant === undefined ? "" : `?${tenant}`;
  return `${schemeOf(url)}//${place}${organization}`;
}

/** Gives the former subject of an issuer's person; others kept theirs. */
export function formerSubject(subject: string): string | undefined {
  const [, id, name] = /^(https?:\/\/[^#]*)#(.*)$/s.exec(subject) ?? [];
  const former = id === undefined ? undefined : formerIdOf(id);
  if (former === undefined) return undefined;
  const port = LIKE_A_PORT.test(name) && !WITH_PORT_OR_PATH.test(former)
    ? ":"
    : "";
  return `${former}${port}:${name}`;
}

/**
 * Gives the former {@linkcode import("./grant.ts").bindingOf} of a person;
 * undefined for the binding of a JWT, which never changed.
 */
export function formerBinding(binding: string): string | undefined {
  if (!binding.startsWith("[")) return undefined;
  const [issuer, resource, subject, ...more] = JSON.parse(binding);
  if (subject === undefined || more.length > 0) return undefined;
  const former = formerSubject(subject);
  return former && JSON.stringify([issuer, resource, former]);
}

/** Returns true if something is bound to a caller, in today's form or before. */
export function isBoundTo(stored: string, binding: string): boolean {
  return stored === binding || stored === formerBinding(binding);
}

/**
 * Gives the former {@linkcode import("./grant.ts").ledgerIdOf} of the grants
 * that an identity provider made; the others have none.
 */
export function formerLedgerId(ledgerId: string): string | undefined {
  if (!ledgerId.startsWith("[")) return undefined;
  const [subject, clientId] = JSON.parse(ledgerId);
  const former = formerSubject(subject);
  return former && JSON.stringify([former, clientId]);
}

/** Gives a record of a person with the subject that they have today. */
export function withSubjectOfToday<T extends PersonRecord>(record: T): T {
  const { subject, identity, assertedBy } = record;
  // In a grant by assertion, the identity may have the whole subject too.
  const isWhole = identity.subject === subject;
  const today = !isWhole
    ? subjectOfNamed(subject, identity.subject)
    : assertedBy === undefined
    ? undefined
    : subjectOfAsserted(subject, assertedBy);
  if (today === undefined) return record;
  return {
    ...record,
    subject: today,
    ...isWhole && { identity: { ...identity, subject: today } },
  };
}

/** Takes a former subject apart at the name that the issuer has for them. */
function subjectOfNamed(subject: string, name: string): string | undefined {
  if (name === "" || !subject.endsWith(`:${name}`)) return undefined;
  const former = subject.slice(0, -name.length - 1).replace(/:$/, "");
  if (NAMES.includes(former)) return undefined;
  const id = idOfFormer(former);
  const today = id === undefined ? "" : subjectOf(id, { subject: name });
  return formerSubject(today) === subject ? today : undefined;
}

/** Takes a former subject apart at the issuer that is known. */
function subjectOfAsserted(
  subject: string,
  assertedBy: string,
): string | undefined {
  const id = issuerId(parseIssuer(assertedBy));
  const former = formerIdOf(id);
  if (former === undefined || !subject.startsWith(`${former}:`)) {
    return undefined;
  }
  const rest = subject.slice(former.length + 1);
  return [rest, rest.replace(/^:/, "")]
    .map((name) => subjectOf(id, { subject: name }))
    .find((today) => formerSubject(today) === subject);
}
