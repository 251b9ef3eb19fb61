/**
 * Subjects: the names of people and machines here, which keep the people of one
 * issuer apart from those of every other.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";
import type { TrustedIssuer } from "./identity_assertion.ts";

/** The prefix of the subjects of clients that act for themselves. */
export const MACHINE_ID = "client";

/**
 * The prefixes of subjects that are not hosts: providers, machines, and the
 * scheme that keeps a host with such a name apart.
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

/** The end of a host and the path behind it, as every URL reader sees it. */
const PATH = /[/?\\].*/s;

/** The port that a scheme has anyway. */
const USUAL_PORT =
  /^(https:\/\/[^/?\\]*):443(?!\d)|^(http:\/\/[^/?\\]*):80(?!\d)/i;

/**
 * Makes the prefix that keeps an issuer's subjects apart from another's: its
 * host, port and path. Colons in the path are encoded, so that the first colon
 * after it ends the path. http and a trailing slash do not make another issuer:
 * http is only for this machine, and the metadata is at the same address with
 * or without the slash. Nor does the case of the host, or the usual port.
 */
export function issuerId({ issuer, tenant }: TrustedIssuer): string {
  const place = issuer.replace(USUAL_PORT, "$1$2")
    .replace(/^https?:\/\//i, "").replace(/\/$/, "");
  const host = place.replace(PATH, "").toLowerCase();
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

/** An id that has a port or a path after its host. */
const WITH_PORT_OR_PATH = /^(?:\[[^\]]*\]|[^[:/?#\\]*)[:/?#\\]/;

/**
 * A subject that, right after a host and a colon, would look like a port, with
 * or without a path.
 */
const LIKE_A_PORT = /^\d*(?:[/?#\\][^:]*)?:/;

/**
 * Makes a person's subject here. If the issuer's own name for the person could
 * be read as the issuer's port, an empty port (`:`) is put before it, so that
 * two issuers can never have the same subject.
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

/** Makes the subject of a client that acts for itself. */
export function machineSubject(clientId: string): string {
  return subjectOf(MACHINE_ID, { subject: clientId });
}

/**
 * True if an issuer's name for a person begins like a subject of another
 * issuer.
 */
export function isSubjectOfOther(
  name: string,
  /** The prefixes of the others' subjects. */
  ids: readonly string[],
): boolean {
  return ids.some((id) => name.startsWith(`${id}:`));
}
