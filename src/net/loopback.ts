/**
 * The addresses of the machine that opens them.
 *
 * @module
 */

/** True if a URL points at the machine it is opened on (RFC 8252 §7.3). */
export function isLoopback({ hostname }: { hostname: string }): boolean {
  return hostname === "localhost" || hostname === "[::1]" ||
    hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/**
 * The origins of this machine that may be twins: a fixed list, so that
 * strangers cannot add to it.
 */
const LOOPBACK_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** True if two origins differ only in the name of this machine. */
export function isTwin(one: string, other: string): boolean {
  const [first, second] = [
    LOOPBACK_ORIGIN.exec(one),
    LOOPBACK_ORIGIN.exec(other),
  ];
  return first !== null && second !== null && first[1] === second[1];
}

/** Gives the origin of a request that came to a loopback address. */
export function loopbackOriginOf({ url }: Request): string | undefined {
  const parsed = new URL(url);
  return isLoopback(parsed) ? parsed.origin : undefined;
}
