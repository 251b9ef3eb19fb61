/**
 * The one resource there is, and the ways in which clients write it.
 *
 * @see RFC 8707, RFC 9728
 * @module
 */
import { OAuthError } from "../errors.ts";

/** The protected resource's identifier: the address of `/mcp`, exactly. */
export function resourceOf(baseUrl: string): string {
  return `${baseUrl}/mcp`;
}

/**
 * Checks that every `resource` of a request means ours. Clients send nothing,
 * the bare origin, a trailing slash, or a query of their own; all of these
 * mean the one resource. Anything else is somebody else's.
 *
 * @throws {OAuthError} `invalid_target` (RFC 8707 §2)
 */
export function checkResources(
  resources: readonly string[],
  baseUrl: string,
): void {
  for (const resource of resources) {
    const url = URL.parse(resource);
    const ours = url !== null && url.origin === baseUrl && !url.username &&
      !url.password && !resource.includes("#") &&
      /^\/(mcp\/?)?$/.test(url.pathname);
    if (!ours) {
      throw new OAuthError(
        "invalid_target",
        `The resource of this server is ${resourceOf(baseUrl)}`,
      );
    }
  }
}

const SID = /^[A-Za-z0-9._~-]{1,128}$/;

/** Whether a text may correlate requests as `sid`. It never means more. */
export function isSid(text: string): boolean {
  return SID.test(text);
}
