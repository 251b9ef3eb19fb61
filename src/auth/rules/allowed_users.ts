/**
 * The list of people who may sign in.
 *
 * @module
 */
import type { Identity } from "../../caller.ts";

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
 * - anything without an `@`: the provider's subject, letter by letter.
 *
 * An entry with an `@` never matches a subject: otherwise an account name that
 * looks like someone's address would get in.
 */
export function isAllowed(
  { subject, email, emailVerified }: Identity,
  allowed: readonly string[],
): boolean {
  if (allowed.length === 0) return true;
  const address = emailVerified === true ? email?.toLowerCase() : undefined;
  // Readers disagree about an address with a second @.
  const domain = address?.match(/^[^@]+(@[^@]+)$/)?.[1];
  return allowed.some((entry) =>
    !isAddressEntry(entry)
      ? entry === subject
      : entry.toLowerCase() === (entry.startsWith("@") ? domain : address)
  );
}
