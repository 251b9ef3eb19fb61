/**
 * Addresses of servers as people type them.
 *
 * @module
 */
import { isLoopback } from "./loopback.ts";

/**
 * Parses an address as people type it: without a scheme it is https, or http on
 * this machine.
 *
 * @throws {Error}
 */
export function parseTypedUrl(text: string): URL {
  const hasScheme = /^[a-z][a-z+.-]*:\/\//i.test(text);
  const url = URL.parse(hasScheme ? text : `https://${text}`);
  if (
    !url || !/^https?:$/.test(url.protocol) || url.username || url.hash ||
    !/[.:]|^localhost$/.test(url.hostname)
  ) {
    throw new Error(`Not an address: ${text}`);
  }
  if (!hasScheme && isLoopback(url)) url.protocol = "http:";
  return url;
}
