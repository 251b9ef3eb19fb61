/**
 * The list of people who may sign in.
 *
 * @module
 */
import type { Person } from "./permissions.ts";

/** Returns true if an entry is about an e-mail address or a domain. */
export function isAddressEntry(entry: string): boolean {
  return entry.includes("@");
}

/**
 * True if `OAUTH_ALLOWED_USERS` lets the person in. An empty list lets everyone
 * in. An entry is one of:
 *
 * - `jo@example.com`: an e-mail address that the provider has verified, in any
 *   case of letters;
 * - `@example.com`: any verified address of exactly that domain, in any case
 *   of letters; its subdomains are other domains;
 * - anything without an `@`: the provider's subject, letter by letter;
 * - `github:583231`: the subject here, as pages and the log print it.
 *
 * An entry with an `@` never matches the provider's subject: otherwise an account name that
 * looks like someone's address would get in.
 */
export function isAllowed(
  { subject: printed, identity }: Person,
  allowed: readonly string[],
): boolean {
  if (allowed.length === 0) return true;
  const { subject, email, emailVerified } = identity;
  const address = emailVerified === true ? email?.toLowerCase() : undefined;
  // Readers disagree about an address with a second @.
  const domain = address?.match(/^[^@]+(@[^@]+)$/)?.[1];
  return allowed.some((entry) =>
    entry === printed ||
    (isAddressEntry(entry)
      ? entry.toLowerCase() === (entry.startsWith("@") ? domain : address)
      : entry === subject)
  );
}
