/**
 * The list of people who may sign in.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";

/**
 * Puts the letters A to Z in lower case, and no others: the Kelvin sign is not
 * a k in an address.
 */
export function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Returns true if an entry is about an e-mail address or a domain. */
export function isAddressEntry(entry: string): boolean {
  return entry.includes("@");
}

/**
 * True if `OAUTH_ALLOWED_USERS` lets the person in. An empty list lets everyone
 * in. An entry is one of:
 *
 * - `jo@example.com`: an e-mail address that the provider has verified, in any
 *   case of the letters A to Z;
 * - `@example.com`: any verified address of exactly that domain, in any case
 *   of letters; its subdomains are other domains;
 * - anything without an `@`: the provider's subject, letter by letter;
 * - `github:583231`: the subject here, as pages and the log print it.
 *
 * An entry with an `@` never matches the provider's subject: otherwise an
 * account name that looks like someone's address would get in.
 */
export function isAllowed(
  { subject: printed, identity }: { subject: string; identity: Identity },
  allowed: readonly string[],
): boolean {
  if (allowed.length === 0) return true;
  const { subject } = identity;
  const addresses = verifiedAddresses(identity);
  // Readers disagree about an address with a second @.
  const domains = addresses.map((it) => it.match(/^[^@]+(@[^@]+)$/)?.[1]);
  return allowed.some((entry) =>
    entry === printed ||
    (isAddressEntry(entry)
      ? (entry.startsWith("@") ? domains : addresses)
        .includes(lowerAscii(entry))
      : entry === subject)
  );
}

/** Lists the addresses that the provider has verified, in small letters. */
function verifiedAddresses(
  { email, emailVerified, otherEmails = [] }: Identity,
): string[] {
  if (emailVerified !== true) return [];
  return [...email === undefined ? [] : [email], ...otherEmails]
    .map(lowerAscii);
}
