/**
 * The resource of this server (RFC 8707), and the URLs of its metadata.
 *
 * @see RFC 8707, RFC 8414 §3.1, RFC 9728 §3.1
 * @module
 */
import { basePathOf } from "../net/url.ts";
import { OAuthError } from "../errors.ts";

/** Returns the resource identifier: the URL of `/mcp`. */
export function resourceOf(baseUrl: string): string {
  return `${baseUrl}/mcp`;
}

/**
 * Returns the URL of the protected resource metadata.
 *
 * @param sid a client's name for its requests, see {@linkcode sidOf}
 */
export function resourceMetadataUrl(baseUrl: string, sid?: string): string {
  const url = wellKnown("oauth-protected-resource", resourceOf(baseUrl));
  return sid === undefined ? url : `${url}?sid=${sid}`;
}

/** Returns the URL of the authorization server metadata. */
export function serverMetadataUrl(baseUrl: string): string {
  return wellKnown("oauth-authorization-server", baseUrl);
}

/** Makes a well-known URL: `/.well-known/NAME` is inserted before the path. */
function wellKnown(name: string, address: string): string {
  const { origin } = new URL(address);
  return `${origin}/.well-known/${name}${basePathOf(address)}`;
}

/**
 * Checks that every `resource` of a request means this server. Clients send
 * none, the bare origin, a trailing slash, or their own query; all are
 * accepted.
 *
 * @throws {OAuthError} `invalid_target` (RFC 8707 §2)
 */
export function checkResources(
  resources: readonly string[],
  baseUrl: string,
): void {
  const own = new URL(resourceOf(baseUrl));
  const base = basePathOf(baseUrl);
  const paths = ["/", base, `${base}/`, own.pathname, `${own.pathname}/`];
  for (const resource of resources) {
    const url = URL.parse(resource);
    const isOurs = url !== null && url.origin === own.origin &&
      !url.username && !url.password && !resource.includes("#") &&
      paths.includes(url.pathname);
    if (!isOurs) {
      throw new OAuthError(
        "invalid_target",
        `The resource of this server is ${own.href}`,
      );
    }
  }
}

/**
 * Matches a `sid`, which a client may add to the URL of its requests
 * (`/mcp?sid=…`) to correlate them. It has no other effect.
 */
const SID = /^[A-Za-z0-9._~-]{1,128}$/;

export function isSid(text: string): boolean {
  return SID.test(text);
}

/**
 * Returns the `sid` in the URL of a request; undefined if it is absent or
 * invalid.
 */
export function sidOf({ url }: Request): string | undefined {
  const sid = new URL(url).searchParams.get("sid");
  return sid !== null && isSid(sid) ? sid : undefined;
}
