/**
 * Subjects: the names of people and machines here, which keep those of one
 * issuer apart from every other's.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import type { TrustedIssuer } from "./identity_assertion.ts";

/** What subjects of clients that act for themselves begin with. */
export const MACHINE_ID = "client";

/**
 * What stands before a subject and is no host: providers, machines, and the
 * scheme that a host with such a name keeps.
 */
const NAMES = [
  "github",
  "google",
  "microsoft",
  "gitlab",
  "dev",
  MACHINE_ID,
  "https",
];

/** What separates host and path, for every reader of URLs. */
const PATH = /[/?\\].*/s;

/**
 * What keeps an issuer's subjects apart from another's: its host, port and
 * path. No path has a colon, so that the first one behind it ends it. http and
 * a slash at the end make no other issuer: http is for this machine only, and
 * the metadata of both is in one place.
 */
export function issuerId({ issuer, tenant }: TrustedIssuer): string {
  const place = issuer.replace(/^https?:\/\//i, "").replace(/\/$/, "");
  const host = place.replace(PATH, "");
  const path = PATH.exec(place)?.[0].replace(
    /%(?:25)*3A|:/gi,
    (colon) => colon === ":" ? "%3A" : `%25${colon.slice(1)}`,
  ) ?? "";
  const organization = tenant === undefined
    ? ""
    : `#${encodeURIComponent(tenant)}`;
  const id = host + path + organization;
  return NAMES.includes(id) ? `https://${id}` : id;
}

/** An id that goes on behind its host. */
const WITH_PORT_OR_PATH = /^(?:\[[^\]]*\]|[^[:/?#\\]*)[:/?#\\]/;

/** A subject that behind a host would look like a port, or a path and more. */
const LIKE_A_PORT = /^\d*(?:[/?#\\][^:]*)?:/;

/**
 * A person's subject here. Where an issuer's own name for the person could be
 * read as the issuer's port, an empty port precedes it.
 *
 * @param id `OAUTH_PROVIDER`, or an {@linkcode issuerId}
 */
export function subjectOf(
  id: string,
  { subject }: Pick<Identity, "subject">,
): string {
  const port = LIKE_A_PORT.test(subject) && !WITH_PORT_OR_PATH.test(id)
    ? ":"
    : "";
  return `${id}${port}:${subject}`;
}

/** The subject of a client that acts for itself. */
export function machineSubject(clientId: string): string {
  return subjectOf(MACHINE_ID, { subject: clientId });
}

/** Whether what an issuer calls a person is how others are called here. */
export function isSubjectOfOther(
  name: string,
  /** What theirs begin with. */
  ids: readonly string[],
): boolean {
  return ids.some((id) => name.startsWith(`${id}:`));
}
