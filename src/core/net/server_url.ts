/**
 * Addresses of servers, that an operator or another server names.
 *
 * @module
 */
import { isLoopback } from "./url.ts";

/**
 * Parses the address of a server: https, or http on this machine, without a
 * user or a fragment. Null for anything else.
 *
 * @param by the server that names the address: one elsewhere must not name
 * addresses on this machine
 */
export function parseServerUrl(
  address: unknown,
  by?: Pick<URL, "hostname">,
): URL | null {
  const url = typeof address === "string" ? URL.parse(address) : null;
  const isNear = url?.protocol === "http:" && isLoopback(url) &&
    isLoopback(by ?? url);
  const isPlain = url && !url.username && !url.password && !url.hash;
  return isPlain && (url.protocol === "https:" || isNear) ? url : null;
}
