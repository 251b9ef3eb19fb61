/**
 * The sites of hosts, by the Public Suffix List. The list is large: this module
 * is loaded only where two hosts differ.
 *
 * @module
 * @see https://publicsuffix.org
 */
import { getDomain } from "tldts";

/**
 * True if two URLs have the same host or the same registrable domain. Each
 * customer of a hosting domain such as `github.io` has a domain of their own.
 */
export function isSameSite(one: URL, other: URL): boolean {
  const [domain, another] = [one, other].map(({ hostname }) =>
    getDomain(hostname, { allowPrivateDomains: true })
  );
  return one.host === other.host || domain !== null && domain === another;
}
