/**
 * The sites of hosts, by the Public Suffix List. The list is large: this module
 * is loaded only where two hosts differ.
 *
 * @module
 * @see https://publicsuffix.org
 */
import { getDomain } from "tldts";

/**
 * True if two URLs have the same host, or if the host of one is below that of
 * the other within one registrable domain. `api.example.com` and
 * `app.example.com` are not: hosts next to each other often belong to others.
 * Each customer of a hosting domain such as `github.io` has a domain of their
 * own.
 */
export function isSameSite(one: URL, other: URL): boolean {
  if (one.host === other.host) return true;
  const names = [one.hostname, other.hostname];
  const [domain, another] = names.map((hostname) =>
    getDomain(hostname, { allowPrivateDomains: true })
  );
  const [outer, inner] = names.sort((a, b) => a.length - b.length);
  return domain !== null && domain === another && inner.endsWith(`.${outer}`);
}
