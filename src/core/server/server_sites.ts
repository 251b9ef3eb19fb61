/**
 * A server at all of its base URLs; finds the one that a request was sent to.
 * @module
 */
import { HttpError } from "../errors.ts";
import type { ConnectionInfo } from "../http/client_address.ts";
import { CORS_HEADERS } from "../http/cors.ts";
import { logFailure, type Logger } from "../log/log.ts";
import { newReference } from "../log/request.ts";
import { isHost, isTwin, loopbackOriginOf, twinsOf } from "../net/url.ts";
import { telemetry } from "../telemetry/current.ts";
import type { Plan } from "./plan.ts";
import {
  openCore,
  type ServerCore,
  type ServerDependencies,
} from "./server_core.ts";
import { ServerSite } from "./server_site.ts";

/**
 * The {@linkcode ServerSite} of each base URL, made at the first request for
 * it.
 */
export class ServerSites {
  readonly core: ServerCore;
  /** `BASE_URL`, or the first base URL that became known; undefined before. */
  #home?: string;
  /** The last valid `Host`. Most clients always send the same. */
  #goodHost?: string | null;
  readonly #sites = new Map<string | undefined, ServerSite>();

  constructor(plan: Plan, given: ServerDependencies) {
    this.#home = plan.config.baseUrl ?? given.origin;
    this.core = openCore(plan, given, this);
  }

  /** True once the server knows its own base URL. */
  get hasHome(): boolean {
    return this.#home !== undefined;
  }

  /** Handles a request. Never throws or rejects. */
  answer(request: Request, info: ConnectionInfo): Response | Promise<Response> {
    const answer = () => this.#answer(request, info);
    return telemetry ? telemetry.serve(request.method, answer) : answer();
  }

  /**
   * Returns the server at one of its base URLs; without `address`, at
   * `BASE_URL` or the first one known.
   */
  site(address = ""): ServerSite {
    return this.#site(address === "" ? this.#home : address);
  }

  /**
   * Lists the base URLs whose durable work runs in this process. The empty one
   * is for callers who are the same person at every base URL.
   */
  addresses(): readonly string[] {
    const { config: { baseUrl, auth } } = this.core.plan;
    const home = this.#home;
    if (!auth.oauth || home === undefined) return [""];
    return ["", ...baseUrl === undefined ? twinsOf(home) : [home]];
  }

  /** Lets the features start overdue work. */
  notice(): void {
    for (const { notice } of this.core.features) notice?.(this.hasHome);
  }

  async close(): Promise<void> {
    for (const site of this.#sites.values()) await site.close();
  }

  #answer(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    try {
      checkMethod(request);
      this.#checkHost(request);
      const site = this.#of(request);
      this.notice();
      const answer = site.answer(request, info);
      return answer instanceof Response
        ? answer
        : answer.catch((error) => this.#refuse(error));
    } catch (error) {
      return this.#refuse(error);
    }
  }

  /**
   * Checks `Host`, from which the runtime makes the URL of the request. An
   * invalid `Host` would change the path, or make no URL at all.
   * @throws {HttpError} 400
   */
  #checkHost({ headers, url }: Request): void {
    const name = headers.get("host");
    if (name === null ? URL.canParse(url) : name === this.#goodHost) return;
    if (name === null || !isHost(name)) {
      throw new HttpError(400, "Host must be a name, with a port or without");
    }
    this.#goodHost = name;
  }

  /**
   * Finds the server at the base URL that a request was sent to. Without
   * `BASE_URL`, a server on loopback has several names; clients treat each as
   * another server.
   */
  #of(request: Request): ServerSite {
    const home = this.#home ??= loopbackOriginOf(request);
    const { baseUrl } = this.core.plan.config;
    const isHome = baseUrl !== undefined || home === undefined ||
      request.url.startsWith(`${home}/`);
    if (isHome) return this.#site(home);
    const { origin } = new URL(request.url);
    return this.#site(isTwin(origin, home) ? origin : home);
  }

  #site(baseUrl: string | undefined): ServerSite {
    let site = this.#sites.get(baseUrl);
    if (site === undefined) {
      site = new ServerSite(this.core, baseUrl);
      this.#sites.set(baseUrl, site);
    }
    return site;
  }

  /**
   * Responds to an error that was thrown before the request reached a route.
   */
  #refuse(error: unknown): Response {
    if (!(error instanceof HttpError) || error.status >= 500) {
      const { log } = this.core.engine;
      return failureResponse(log, error, 500, "server_error");
    }
    const { status, message, headers } = error;
    return Response.json(
      { error: "invalid_request", error_description: message },
      { status, headers: { ...CORS_HEADERS, ...headers } },
    );
  }
}

/** Matches methods with which no `Request` can be made. */
const FORBIDDEN_METHODS = /^(?:connect|trace|track)$/i;

/** @throws {HttpError} 405 for a method that no route has */
function checkMethod({ method }: Request): void {
  if (method === "POST" || !FORBIDDEN_METHODS.test(method)) return;
  throw new HttpError(405, "No address here has this method", {
    headers: { allow: "GET, HEAD, POST, DELETE, OPTIONS" },
  });
}

/**
 * Logs an internal error from before any route was found, and makes the
 * response.
 */
export function failureResponse(
  log: Logger,
  error: unknown,
  status: 500 | 503,
  code: string,
): Response {
  const reference = newReference();
  logFailure(log, error, { reference });
  return Response.json({ error: code, reference }, {
    status,
    headers: { ...CORS_HEADERS, ...status === 503 && { "retry-after": "5" } },
  });
}
