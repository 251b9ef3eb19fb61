/**
 * The gate in front of `/mcp`, which authenticates callers, and the checks of
 * `Origin` and `Host` before it. Each value of `AUTH_STRATEGY` is an
 * authentication method with a gate of its own; several can be combined.
 * `Origin` is checked because a page of any site can make a browser send
 * requests to this server; `Host` on loopback, because any host name can be
 * made to resolve to this machine (DNS rebinding).
 *
 * @see RFC 6750 §2.1 and §3, RFC 9728 §5.1
 * @see MCP 2026-07-28, Streamable HTTP, Security & Endpoint
 * @module
 */
import type { MaybePromise } from "../../../authoring/service.ts";
import {
  ANONYMOUS,
  type Authenticated,
  type Caller,
  isStranger,
  STRANGER,
} from "../../caller.ts";
import { ChallengeError, HttpError } from "../../errors.ts";
import { unionOfScopes } from "../../oauth/scope.ts";
import type { Config } from "../../settings/config.ts";
import type { Logger } from "../../log/log.ts";
import { seenText } from "../../log/log_line.ts";
import { isLoopback } from "../../net/url.ts";

/** Authenticates callers, by one method or several. */
export interface Gate {
  /**
   * Authenticates the caller by the headers of a request.
   *
   * @throws {ChallengeError} 401 if the credentials are missing or no longer
   * valid
   */
  authenticate(headers: Headers): Authenticated | Promise<Authenticated>;
  /**
   * Authenticates an earlier caller again for background work, with their
   * present scopes. Undefined if they are no longer allowed; `isLive` tells if
   * they are paused.
   */
  restore(caller: Caller): MaybePromise<Authenticated | undefined>;
  /**
   * True if this process has the settings for a caller: the authentication
   * method, and the provider or issuer. While a deployment rolls out, only some
   * processes may have them.
   */
  isConfigured(caller: Caller): MaybePromise<boolean>;
  /**
   * Formats `WWW-Authenticate` for a refusal (RFC 6750 §3). The metadata URL in
   * the header gets the request's `sid`.
   */
  challenge(refusal: ChallengeError, sid?: string): string;
}

const AUTHENTICATED: Authenticated = Object.freeze({ caller: ANONYMOUS });

/** The gate for `AUTH_STRATEGY=none`: everyone is the same anonymous caller. */
export const openGate: Gate = {
  authenticate: () => AUTHENTICATED,
  restore: ({ binding }) =>
    binding === ANONYMOUS.binding ? AUTHENTICATED : undefined,
  isConfigured: ({ door }) => door === undefined,
  challenge: () => "Bearer",
};

/** Makes a gate that is loaded at the first request. */
export function lazyGate(load: () => Promise<Gate>): Gate {
  let gate: Gate | undefined;
  async function loaded(): Promise<Gate> {
    const loaded = await load();
    return gate ??= loaded;
  }
  return {
    authenticate: (headers) =>
      gate
        ? gate.authenticate(headers)
        : loaded().then((gate) => gate.authenticate(headers)),
    restore: async (caller) => await (await loaded()).restore(caller),
    isConfigured: async (caller) => await (await loaded()).isConfigured(caller),
    // A challenge always follows `authenticate()`, which has loaded the
    // gate.
    challenge: (refusal, sid) => gate!.challenge(refusal, sid),
  };
}

/**
 * Makes the gate for `AUTH_ANONYMOUS`, which lets people try a server. A
 * request without credentials is accepted without scopes. Invalid credentials
 * still get a 401; otherwise their client would never request new ones.
 */
export function anonymousGate(
  gate: Gate,
  { keyHeader, ceiling }: {
    /** The name of the API key header, if the server accepts API keys. */
    keyHeader?: string;
    /**
     * The scopes that an anonymous caller could get by signing in; all by
     * default.
     */
    ceiling?: readonly string[];
  } = {},
): Gate {
  const stranger: Authenticated = Object.freeze({
    caller: Object.freeze({ ...STRANGER, ...ceiling && { ceiling } }),
  });
  return {
    ...gate,
    authenticate: (headers) =>
      headers.has("authorization") ||
        keyHeader !== undefined && headers.has(keyHeader)
        ? gate.authenticate(headers)
        : stranger,
    restore: (caller) => isStranger(caller) ? stranger : gate.restore(caller),
  };
}

const BEARER = /^Bearer +(\S+) *$/i;

/**
 * Returns the bearer token in an `Authorization` header; undefined if it has
 * none.
 */
export function parseBearer(authorization: string | null): string | undefined {
  return authorization === null ? undefined : BEARER.exec(authorization)?.[1];
}

/**
 * Returns the bearer token of a request.
 *
 * @throws {ChallengeError} 401 without one
 */
export function presentedBearer(headers: Headers): string {
  const token = parseBearer(headers.get("authorization"));
  if (token === undefined) throw new ChallengeError("Sign in first");
  return token;
}

/**
 * Formats a Bearer challenge.
 * @param parameters further parameters, such as `resource_metadata`; undefined
 * ones are left out
 * @param scopes the scopes that every sign-in requests; a 401 names them, too
 */
export function printChallenge(
  refusal: ChallengeError,
  parameters: Readonly<Record<string, string | undefined>> = {},
  scopes: readonly string[] = [],
): string {
  const needed = refusal.status === 401
    ? unionOfScopes(refusal.scopes, scopes)
    : refusal.scopes;
  const all = {
    error: refusal.error,
    error_description: refusal.error && refusal.description,
    ...parameters,
    scope: needed.length > 0 ? needed.join(" ") : undefined,
  };
  const printed = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}="${quotable(value!)}"`);
  return printed.length > 0 ? `Bearer ${printed.join(", ")}` : "Bearer";
}

/**
 * Replaces characters that are not allowed in a challenge's parameter (RFC 6750
 * §3).
 */
function quotable(text: string): string {
  return text.replaceAll('"', "'").replace(/[^\x20-\x5B\x5D-\x7E]/g, "?");
}

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

function authorityOf(url: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(url)?.[1] ?? "";
}
