/**
 * Checks `Origin` and `Host`. `Origin` is checked because a page of any site
 * can make a browser send requests to this server. A server on loopback also
 * checks `Host`, because any host name can be made to resolve to this machine
 * (DNS rebinding).
 *
 * @module
 * @see MCP 2026-07-28, Streamable HTTP, Security & Endpoint
 */
import type { Config } from "../../settings/config.ts";
import { HttpError } from "../../errors.ts";
import type { Logger } from "../../log/log.ts";
import { seenText } from "../../log/log_line.ts";
import { isLoopback } from "../../net/url.ts";

/**
 * Checks `Origin` and `Host` of a request. Returns true if it has an `Origin`,
 * as every cross-origin request of a page does.
 *
 * @throws {HttpError} 403, which names the received value and the accepted ones
 */
export type CheckOrigin = (
  request: Pick<Request, "headers" | "url">,
) => boolean;

/** The time after which the same refusal is logged again. */
const QUIET_MILLISECONDS = 60_000;
/** The maximum number of refusals logged in that time. */
const MAX_SEEN = 20;

/** Makes the function that logs and throws the error for a refused header. */
function refusals(
  baseUrl: string | undefined,
  log?: Logger,
): (what: "Origin" | "Host", value: string) => never {
  const loggedAt = new Map<string, number>();

  /**
   * True if a refusal should be logged. Only some are, because clients can make
   * up any number of values.
   */
  function isNews(what: string): boolean {
    const time = performance.now();
    for (const [one, at] of loggedAt) {
      if (time - at >= QUIET_MILLISECONDS) loggedAt.delete(one);
    }
    if (loggedAt.has(what) || loggedAt.size >= MAX_SEEN) return false;
    loggedAt.set(what, time);
    return true;
  }

  return (what, value) => {
    const seen = seenText(value);
    const own = baseUrl === undefined
      ? "and BASE_URL is not set"
      : `and BASE_URL is ${baseUrl}`;
    const wanted = what === "Origin"
      ? `${own}: list it in ALLOWED_ORIGINS if its pages may call`
      : `${own}: a server that listens on loopback is reached by that name, ` +
        "or as localhost";
    if (log && isNews(`${what} ${seen}`)) {
      log.warning(`${what} refused: it is not this server's, ${wanted}`, {
        seen,
      });
    }
    throw new HttpError(
      403,
      `The ${what} "${seen}" is not this server's, ${wanted}`,
    );
  };
}

/**
 * Makes the check of `Host`. A server bound to loopback accepts loopback names
 * and the host of `BASE_URL`; any other server accepts every name.
 */
export function hostCheck(
  { host, baseUrl }: Pick<Config, "host" | "baseUrl">,
  log?: Logger,
): (...of: Parameters<CheckOrigin>) => void {
  if (!isLoopback({ hostname: host })) return () => {};
  const ownHost = baseUrl && new URL(baseUrl).host;
  const refuse = refusals(baseUrl, log);

  function isOwnHost(name: string): boolean {
    if (name === ownHost) return true;
    const url = URL.parse(`http://${name}`);
    return url !== null && url.host === name && isLoopback(url);
  }

  /** The last accepted `Host`. Most requests have the same. */
  let accepted: string | null | undefined;
  let acceptedUrl = "";

  return ({ headers, url }) => {
    // With HTTP/2, the host is in `:authority`, and so in the request's URL.
    // If there is also a `Host`, both must be accepted.
    const name = headers.get("host");
    if (name === accepted && url.startsWith(acceptedUrl)) return;
    const authority = authorityOf(url);
    for (const one of name === null ? [authority] : [name, authority]) {
      if (!isOwnHost(one)) refuse("Host", one);
    }
    accepted = name;
    acceptedUrl = url.slice(0, url.indexOf(authority) + authority.length) + "/";
  };
}

/**
 * Makes the check of `Origin` and `Host`. `Origin` may be absent, this
 * server's, a loopback origin (such as the MCP Inspector's), or in
 * `ALLOWED_ORIGINS`.
 */
export function originCheck(
  config: Pick<Config, "host" | "baseUrl" | "allowedOrigins">,
  log?: Logger,
): CheckOrigin {
  const { baseUrl, allowedOrigins } = config;
  const origins = new Set(allowedOrigins);
  if (baseUrl) origins.add(new URL(baseUrl).origin);
  const refuse = refusals(baseUrl, log);
  const checkHost = hostCheck(config, log);

  function isAllowedOrigin(origin: string): boolean {
    if (origins.has("*") || origins.has(origin)) return true;
    const url = URL.parse(origin);
    return url !== null && url.origin === origin && isLoopback(url);
  }

  return (request) => {
    const origin = request.headers.get("origin");
    if (origin !== null && !isAllowedOrigin(origin)) refuse("Origin", origin);
    checkHost(request);
    return origin !== null;
  };
}

/** Finds the host and port of an absolute URL. */
function authorityOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "";
}
