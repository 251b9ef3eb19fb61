/**
 * URLs and hosts: loopback, a server's base URL, and URLs as people type them.
 *
 * @module
 */

/** True if a URL is a loopback address (RFC 8252 §7.3). */
export function isLoopback({ hostname }: { hostname: string }): boolean {
  return hostname === "localhost" || hostname === "[::1]" ||
    hostname === "::1" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** Replaces the user and password in each URL of a text by `(hidden)`. */
export function hideSecrets(text: string): string {
  return text.replaceAll(/\/\/\S*@/g, "//(hidden)@");
}

/**
 * Loopback origins that are treated as the same server. The list is fixed, so
 * that no request can add to it.
 */
const LOOPBACK_ORIGIN =
  /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])((?::\d+)?)$/;

/**
 * Returns the port of a loopback origin, with its colon; undefined for others.
 */
const portOf = (origin: string) => LOOPBACK_ORIGIN.exec(origin)?.[1];

/** True if two origins have the same port under two loopback names. */
export function isLoopbackTwin(one: string, other: string): boolean {
  const port = portOf(one);
  return port !== undefined && port === portOf(other);
}

/** Lists a loopback origin under all of its names. */
export function loopbackTwinsOf(origin: string): string[] {
  const port = portOf(origin);
  if (port === undefined) return [origin];
  return ["localhost", "127.0.0.1", "[::1]"].map((name) =>
    `http://${name}${port}`
  );
}

/**
 * Returns the origin of a request if it is a loopback origin, else undefined.
 */
export function loopbackOriginOf({ url }: Request): string | undefined {
  const parsed = new URL(url);
  return isLoopback(parsed) ? parsed.origin : undefined;
}

/**
 * Returns the path of a base URL without a trailing slash; empty at the root.
 */
export function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, "");
}

/**
 * Guesses the registrable domain of a host: the last two labels, or three if
 * the last two look like a country's registry, such as `co.uk`. An IP address
 * is returned as it is.
 */
export function registeredDomain(hostname: string): string {
  const labels = hostname.split(".");
  const [second = "", top = ""] = labels.slice(-2);
  if (/^\d*$|[^\w-]/.test(top)) return hostname;
  const isRegistry = top.length === 2 && second.length <= 3;
  return labels.slice(isRegistry ? -3 : -2).join(".");
}

/**
 * Matches a host name or an IP address, optionally with a port, without a path.
 */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]+)(?::\d*)?$/i;

/** True if a text can be the host of a URL, optionally with a port. */
export function isHost(text: string): boolean {
  return HOST.test(text) && URL.canParse(`http://${text}/`);
}

/**
 * Parses a URL as people type it. Without a scheme it is https, or http on
 * loopback.
 * @throws {Error}
 */
export function parseTypedUrl(text: string): URL {
  const hasScheme = /^[a-z][a-z+.-]*:\/\//i.test(text);
  const url = URL.parse(hasScheme ? text : `https://${text}`);
  if (
    !url || !/^https?:/.test(url.protocol) || url.username || url.hash ||
    !/[.:]|^localhost$/.test(url.hostname)
  ) {
    throw new Error(`Not an http or https address: ${text}`);
  }
  if (!hasScheme && isLoopback(url)) url.protocol = "http:";
  return url;
}
