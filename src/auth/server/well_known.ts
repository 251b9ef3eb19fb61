/**
 * Both well-known documents. Clients look for them at the root and below the
 * path of the resource, so both places answer.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { OAuthError } from "../../errors.ts";
import { basePathOf } from "../../net/url.ts";
import { protectedResourceMetadata } from "../rules/server_metadata.ts";
import { isSid } from "../rules/resource.ts";

/**
 * Lists the paths of the server's metadata: below the issuer's own path and the
 * resource's too, where some clients look for it.
 */
export function serverMetadataPaths(baseUrl: string): string[] {
  const path = "/.well-known/oauth-authorization-server";
  return [...new Set([path, `${path}/mcp`, path + basePathOf(baseUrl)])];
}

/**
 * Answers `GET /.well-known/oauth-protected-resource` (RFC 9728 §3). A `sid`
 * only correlates the request with others: the document is the same for all.
 */
export function protectedResourceMetadataEndpoint(
  options: Parameters<typeof protectedResourceMetadata>[0],
): (c: Context) => Response {
  const document = protectedResourceMetadata(options);
  return (c) => {
    const sid = c.req.query("sid");
    if (sid !== undefined && !isSid(sid)) {
      throw new OAuthError(
        "invalid_request",
        "sid is 1 to 128 letters, digits and . _ ~ -",
      );
    }
    return c.json(document);
  };
}
