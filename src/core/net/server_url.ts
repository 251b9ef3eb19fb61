/**
 * URLs of servers that an operator or another server names.
 *
 * @module
 */
import { isLoopback } from "./url.ts";

/**
 * Parses the URL of a server: https, or http on loopback, without a user or a
 * fragment. Null for anything else.
 * @param by the server that named the URL; http is then accepted only if both
 * are on loopback
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
