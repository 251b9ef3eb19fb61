/**
 * The way of a request from its arrival to its route: calls go straight to the
 * endpoint, everything else to the routes of the app.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import type { ConnectionInfo } from "../http/client_address.ts";
import { CORS_HEADERS } from "../http/cors.ts";
import { logFailure, type Logger } from "../log/log.ts";
import { newReference } from "../log/request.ts";
import { basePathOf, isHost } from "../net/url.ts";
import { telemetry } from "../telemetry/current.ts";
import type { ServerSite, ServerSites } from "./server_site.ts";

/** Answers requests: calls by the endpoint of their site, others by its routes. */
export class Router {
  readonly #basePath: string;
  /** The last valid host name: clients call by one name all day long. */
  #goodHost?: string | null;

  /** @param notice is called with each request, once the home address is known */
  constructor(
    private readonly sites: ServerSites,
    private readonly log: Logger,
    private readonly notice: () => void,
  ) {
    const { home } = sites;
    this.#basePath = home === undefined ? "" : basePathOf(home);
  }

  /** Answers a request. Never throws or rejects. */
  answer(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    return telemetry
      ? telemetry.serve(request.method, () => this.#answer(request, info))
      : this.#answer(request, info);
  }

  #answer(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    try {
      this.#checkHost(request);
      const answer = this.#route(request, info);
      return answer instanceof Response
        ? answer
        : answer.catch((error) => this.#refuse(error));
    } catch (error) {
      return this.#refuse(error);
    }
  }

  /**
   * Checks `Host`: the runtime makes the request's URL from it, so a wrong one
   * would change the path or give no URL at all.
   *
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

  #route(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    const site = this.sites.of(request);
    this.notice();
    const path = this.#pathOf(request);
    // A router and its middleware would double the cost of a call.
    if (request.method === "POST" && path === "/mcp") {
      telemetry?.nameRoute("POST", `${this.#basePath}/mcp`);
      return site.mcp.post(request, info);
    }
    return routeInApp(site, request, path, info);
  }

  /** Finds the path below the server's own, without parsing the whole URL. */
  #pathOf({ url }: Request): string {
    const basePath = this.#basePath;
    const start = url.indexOf("/", url.indexOf("//") + 2);
    const query = url.indexOf("?", start);
    const path = query === -1 ? url.slice(start) : url.slice(start, query);
    if (path === `${basePath}/mcp/`) return "/mcp";
    if (basePath === "") return path;
    if (path === basePath) return "/";
    return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
  }

  /** Answers what is thrown before a request has reached its route. */
  #refuse(error: unknown): Response {
    if (!(error instanceof HttpError) || error.status >= 500) {
      return failureResponse(this.log, error, 500, "server_error");
    }
    const { status, message, headers } = error;
    return Response.json(
      { error: "invalid_request", error_description: message },
      { status, headers: { ...CORS_HEADERS, ...headers } },
    );
  }
}

async function routeInApp(
  site: ServerSite,
  request: Request,
  path: string,
  info: ConnectionInfo,
): Promise<Response> {
  const { routes } = await site.app();
  const url = new URL(request.url);
  if (url.pathname === path) return await routes.fetch(request, info);
  url.pathname = path;
  return await routes.fetch(new Request(url, request), info);
}

/** Logs a failure of ours that no route could answer, and answers it. */
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
    headers: {
      ...CORS_HEADERS,
      ...status === 503 && { "retry-after": "5" },
    },
  });
}
