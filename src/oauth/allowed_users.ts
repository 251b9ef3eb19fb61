/**
 * Who may sign in, and who may see everybody.
 *
 * @module
 */
import type { Identity } from "../caller.ts";

/**
 * Whether a person is on a list of subjects, e-mail addresses and `@domain`s.
 * An address counts only if the provider says that it checked it.
 */
export function isListed(
  { subject, email, emailVerified }: Identity,
  list: readonly string[],
): boolean {
  const address = emailVerified ? email?.toLowerCase() : undefined;
  return list.some((entry) => {
    if (!entry.includes("@")) return entry === subject;
    if (address === undefined) return false;
    const wanted = entry.toLowerCase();
    return wanted.startsWith("@")
      ? address.endsWith(wanted) &&
        address.indexOf("@") === address.length - wanted.length
      : address === wanted;
  });
}
