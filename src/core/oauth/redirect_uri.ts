/**
 * Registration and exact comparison of redirect URIs. They are compared as
 * strings, never parsed and formatted again: a URL parser changes
 * `java\tscript:`, `https://2130706433/` and dot segments.
 * @see RFC 8252 §7, RFC 9700 §4.1
 * @module
 */
import { OAuthError } from "../errors.ts";
import { seenText } from "../log/log_line.ts";

/**
 * The owner of a redirect URI: a website, a local program, or an app with its
 * own scheme.
 */
type RedirectKind = "https" | "loopback" | "private-use";

const MAX_LENGTH = 2048;

/**
 * Matches the characters of RFC 3986 without `#`: a redirect URI has no
 * fragment.
 */
const URI =
  /^([a-z][a-z0-9+.-]*):((?:[\w.~:/?[\]@!$&'()*+,;=-]|%[\da-fA-F]{2})+)$/;
const AUTHORITY = /^\/\/([^/?]*)/;
const HOST_AND_PORT =
  /^(?:(?:[a-z0-9-]+\.)*[a-z0-9-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
const IPV4 = /^(?:(?:\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])(?:\.(?!$)|$)){4}$/;
const LOOPBACK =
  /^(https?:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?((?:[/?].*)?)$/;
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?:[/?]|$)/i;

/** Schemes that run code, read data, or open other programs. */
const REFUSED_SCHEMES = new Set(
  (
    "about android-app blob chrome chrome-extension content data edge " +
    "facetime file filesystem ftp intent jar javascript ldap livescript " +
    "mailto moz-extension resource search-ms sftp shell sms smb ssh tel " +
    "vbscript view-source ws wss x-apple.systempreferences"
  ).split(" "),
);

/**
 * The parameters of an authorization response (RFC 6749 §4.1.2, RFC 9207 §2).
 */
const RESPONSE_PARAMETERS = [
  "code",
  "state",
  "iss",
  "error",
  "error_description",
  "error_uri",
];

function refuse(description: string): never {
  throw new OAuthError("invalid_redirect_uri", description);
}

/**
 * Checks a redirect URI in a registration. Returns its kind: https, http on a
 * loopback address, or an app's private-use scheme.
 */
export function checkRedirectUri(uri: string): RedirectKind {
  const match = uri.length <= MAX_LENGTH ? URI.exec(uri) : null;
  if (!match) {
    refuse(
      "A redirect URI must be an absolute URI without a fragment, of at most " +
        `${MAX_LENGTH} characters`,
    );
  }
  const [, scheme, rest] = match;
  if (REFUSED_SCHEMES.has(scheme) || scheme.startsWith("ms-")) {
    refuse(`A redirect URI must not use the scheme ${seenText(scheme)}`);
  }
  if (DOT_SEGMENT.test(rest)) {
    refuse("A redirect URI must not have dot segments");
  }
  const query = new URLSearchParams(rest.split("?").slice(1).join("?"));
  const taken = RESPONSE_PARAMETERS.find((name) => query.has(name));
  if (taken !== undefined) {
    refuse(`A redirect URI must not have ${taken} in its query`);
  }
  if (!URL.canParse(uri)) {
    refuse("A redirect URI must be one that URL parsers read");
  }
  const authority = AUTHORITY.exec(rest)?.[1];
  if (authority?.includes("@")) refuse("A redirect URI must not have a user");
  if (LOOPBACK.test(uri)) return "loopback";
  if (scheme === "http") {
    refuse("http redirect URIs must use 127.0.0.1, [::1] or localhost");
  }
  if (scheme === "https") {
    if (
      !authority || !HOST_AND_PORT.test(authority) || isOddNumber(authority)
    ) {
      refuse("An https redirect URI must have a host name or an address");
    }
    return "https";
  }
  if (!rest.startsWith("/")) {
    refuse("A redirect URI with a private-use scheme must have a path");
  }
  return "private-use";
}

/**
 * True if browsers would read a host as an IPv4 address, although it does not
 * look like one.
 */
function isOddNumber(authority: string): boolean {
  const host = authority.replace(/:.*/, "");
  const last = host.split(".").at(-1)!;
  return /^(?:\d+|0x[\da-f]*)$/i.test(last) && !IPV4.test(host);
}

/** Returns the kind of a redirect URI that was checked before. */
export function redirectKind(uri: string): RedirectKind {
  if (LOOPBACK.test(uri)) return "loopback";
  return uri.startsWith("https:") ? "https" : "private-use";
}

/**
 * True if a requested redirect URI equals a registered one. The port of an http
 * loopback address may differ (RFC 8252 §7.3).
 */
export function isRegisteredRedirectUri(
  requested: string,
  registered: readonly string[],
): boolean {
  // Otherwise the requested URI could have a port above 65535.
  if (!URL.canParse(requested)) return false;
  const portless = withoutLoopbackPort(requested);
  return registered.some((uri) => withoutLoopbackPort(uri) === portless);
}

/**
 * Removes the port of an http loopback address, because a native client has
 * another one each time (RFC 8252 §7.3). Another program may get the same port
 * later. So an earlier consent never replaces the consent page for such a
 * redirect URI.
 */
export function withoutLoopbackPort(uri: string): string {
  const match = LOOPBACK.exec(uri);
  return match && uri.startsWith("http:") ? match[1] + match[2] : uri;
}
