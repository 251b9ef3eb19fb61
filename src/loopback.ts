/**
 * Which addresses mean the machine that opens them.
 *
 * @module
 */

/** Whether a URL points at the machine it is opened on (RFC 8252 §7.3). */
export function isLoopback({ hostname }: { hostname: string }): boolean {
  return hostname === "localhost" || hostname === "[::1]" ||
    hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname);
}
