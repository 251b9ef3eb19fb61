/**
 * Addresses that another server names, in its metadata or in an answer.
 *
 * @module
 */
import { isLoopback } from "./url.ts";

/**
 * Parses an address that another server names: https, or http between servers
 * on this machine, without a user or a fragment. Null for anything else.
 */
export function parseNamedUrl(
  address: unknown,
  by: Pick<URL, "hostname">,
): URL | null {
  const url = typeof address === "string" ? URL.parse(address) : null;
  const isNear = url?.protocol === "http:" && isLoopback(url) && isLoopback(by);
  const isPlain = url && !url.username && !url.password && !url.hash;
  return isPlain && (url.protocol === "https:" || isNear) ? url : null;
}
