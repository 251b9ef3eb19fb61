/**
 * The check of requests from browsers. A page on any site can make a browser
 * send requests to this server, so `Origin` decides. A host name can be made to
 * point at this machine (DNS rebinding), so a server bound to loopback checks
 * `Host` too.
 *
 * @module
 * @see MCP 2026-07-28, Streamable HTTP, Security & Endpoint
 */
import type { Config } from "../config/config.ts";
import { HttpError } from "../errors.ts";
import { isLoopback } from "../loopback.ts";

/** @throws {HttpError} 403 */
export type CheckOrigin = (request: Pick<Request, "headers" | "url">) => void;

/**
 * Allows requests without `Origin`, from our own, from loopback pages (the
 * Inspector is one) and from `ALLOWED_ORIGINS`. A server bound to loopback may
 * be reached only by loopback names and that of `BASE_URL`.
 */
export function originCheck(
  { host, baseUrl, allowedOrigins }: Pick<
    Config,
    "host" | "baseUrl" | "allowedOrigins"
  >,
): CheckOrigin {
  const origins = new Set(allowedOrigins);
  if (baseUrl) origins.add(new URL(baseUrl).origin);
  const ownHost = baseUrl && new URL(baseUrl).host;
  const isBoundToLoopback = isLoopback({ hostname: host });

  function isAllowedOrigin(origin: string): boolean {
    if (origins.has("*") || origins.has(origin)) return true;
    const url = URL.parse(origin);
    return url !== null && url.origin === origin && isLoopback(url);
  }

  function isOwnHost(name: string): boolean {
    if (name === ownHost) return true;
    const url = URL.parse(`http://${name}`);
    return url !== null && url.host === name && isLoopback(url);
  }

  /**
   * The last host name that passed, so that it is not parsed again: clients
   * keep using the same one.
   */
  let accepted: string | undefined;

  return ({ headers, url }) => {
    const origin = headers.get("origin");
    if (origin !== null && !isAllowedOrigin(origin)) {
      throw new HttpError(403, "This origin may not call this server");
    }
    if (!isBoundToLoopback) return;
    // HTTP/2 has `:authority` instead, which is part of the URL.
    const name = headers.get("host") ?? authorityOf(url);
    if (name === accepted) return;
    if (!isOwnHost(name)) {
      throw new HttpError(403, "This host name does not belong to this server");
    }
    accepted = name;
  };
}

/** Finds the host and port of an absolute URL. */
function authorityOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "";
}
