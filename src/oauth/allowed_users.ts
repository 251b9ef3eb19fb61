/**
 * Who may sign in.
 *
 * @module
 */
import type { Identity } from "../caller.ts";

/**
 * Whether `OAUTH_ALLOWED_USERS` lets a person in. An empty list lets everyone
 * in. An entry is one of:
 *
 * - `jo@example.com`: an e-mail address that the provider has verified, in any
 *   case of letters;
 * - `@example.com`: any verified address of exactly that domain, in any case
 *   of letters; its subdomains are other domains;
 * - anything without an `@`: the provider's subject, letter by letter.
 *
 * An entry with an `@` never matches a subject, so that no one gets in by an
 * account name that looks like someone's address.
 */
export function isAllowed(
  { subject, email, emailVerified }: Identity,
  allowed: readonly string[],
): boolean {
  if (allowed.length === 0) return true;
  const address = emailVerified === true ? email?.toLowerCase() : undefined;
  // An address with a second @ is read one way here and another way elsewhere.
  const domain = address?.match(/^[^@]+(@[^@]+)$/)?.[1];
  return allowed.some((entry) =>
    !entry.includes("@")
      ? entry === subject
      : entry.toLowerCase() === (entry.startsWith("@") ? domain : address)
  );
}
