/**
 * A server at one public base URL: its authentication, the `/mcp` endpoint, and
 * the other routes, which are loaded at the first request for one.
 * @module
 */
import { gateOfDoors, staticDoors } from "../auth/doors/doors.ts";
import {
  anonymousGate,
  type Gate,
  lateGate,
  openGate,
} from "../auth/doors/gate.ts";
import { HttpError } from "../errors.ts";
import { firstOf } from "../first_of.ts";
import { clientAddress, type ConnectionInfo } from "../http/client_address.ts";
import { CORS_HEADERS } from "../http/cors.ts";
import { streamedResponse } from "../http/outgoing_body.ts";
import { networkKey } from "../mcp/exchange/caller_bound.ts";
import { sendingTo, unreadBudget } from "../mcp/exchange/long_messages.ts";
import { type McpEndpoint, mcpEndpoint } from "../mcp/endpoint.ts";
import type { QuestionPages } from "../mcp/exchange/work.ts";
import { mustPause } from "../net/body_bytes.ts";
import { basePathOf } from "../net/url.ts";
import { type AuthConfig, isOpen } from "../settings/auth.ts";
import { telemetry } from "../telemetry/current.ts";
import type { App } from "./app.ts";
import type { ServerCore } from "./server_core.ts";

export class ServerSite {
  readonly gate: Gate;
  /** The pages on which people answer; undefined if people cannot sign in. */
  readonly waitPages?: QuestionPages;
  readonly #mcp: McpEndpoint;
  readonly #basePath: string;
  #loading?: Promise<App>;

  /** @param baseUrl the base URL; undefined while it is not known */
  constructor(
    private readonly core: ServerCore,
    private readonly baseUrl: string | undefined,
  ) {
    const { plan: { config: { auth } }, given, engine } = core;
    this.gate = given.gate ?? gateOf(auth, () => this.#loadGate());
    if (baseUrl !== undefined && (auth.oauth || given.gate)) {
      const { providers = [] } = auth.oauth ?? {};
      const providerIds = providers.map(({ id }) => id);
      // In a test without sign-in there are no pages, and the test answers.
      const site = { baseUrl, providerIds, isTest: !auth.oauth };
      this.waitPages = firstOf(core.features, (it) => it.waitPages?.(site));
    }
    const { gate, waitPages } = this;
    this.#mcp = mcpEndpoint({ ...engine, gate, waitPages });
    this.#basePath = baseUrl === undefined ? "" : basePathOf(baseUrl);
  }

  /**
   * Handles a request: a call by the endpoint, any other request by a route.
   */
  answer(request: Request, info: ConnectionInfo): Response | Promise<Response> {
    const path = pathBelow(this.#basePath, request.url);
    // Directly, because a router and its middleware would double the time of a
    // call.
    if (request.method === "POST" && path === "/mcp") {
      telemetry?.nameRoute("POST", `${this.#basePath}/mcp`);
      return this.#mcp.post(request, info);
    }
    return this.#answerByRoute(request, path, info);
  }

  /** Loads the routes other than `POST /mcp`, at the first request for one. */
  app(): Promise<App> {
    // A load that failed is tried again: the missing file may be there then.
    return this.#loading ??= this.#loadApp().catch((error) => {
      this.#loading = undefined;
      throw error;
    });
  }

  async close(): Promise<void> {
    await this.#loading?.then((app) => app.close(), () => {});
  }

  async #answerByRoute(
    request: Request,
    path: string,
    info: ConnectionInfo,
  ): Promise<Response> {
    const { bodies, trustedProxies } = this.core.engine;
    const { headers, method } = request;
    const peer = info.remoteAddr?.hostname;
    const address = clientAddress(peer, headers, trustedProxies);
    const limitKey = networkKey(address);
    if (method !== "GET" && mustPause(() => limitKey.name)) {
      const headers = { ...CORS_HEADERS, "retry-after": "5" };
      return new Response(null, { status: 503, headers });
    }
    const { routes } = await this.app();
    unreadBudget.checkCaller({ limitKey });
    const url = new URL(request.url);
    const isSame = url.pathname === path;
    url.pathname = path;
    return await streamedResponse(
      await routes.fetch(isSame ? request : new Request(url, request), info),
      () => sendingTo(limitKey, bodies, info),
    );
  }

  async #loadGate(): Promise<Gate> {
    const { callGate } = await import("./call_gate.ts");
    return await callGate(this.core, this.#knownUrl(), () => this.app());
  }

  async #loadApp(): Promise<App> {
    const baseUrl = this.#knownUrl();
    const { createApp } = await import("./app.ts");
    return await createApp(this.core, {
      baseUrl,
      gate: this.gate,
      mcp: this.#mcp,
    });
  }

  /** @throws {HttpError} 500 if the server does not know its base URL */
  #knownUrl(): string {
    if (this.baseUrl !== undefined) return this.baseUrl;
    throw new HttpError(500, "BASE_URL is not set");
  }
}

/**
 * Makes the authentication by the configured strategies, some of which are
 * loaded by the first call.
 */
function gateOf(auth: AuthConfig, load: () => Promise<Gate>): Gate {
  if (isOpen(auth)) return openGate;
  if (auth.oauth || auth.jwt) return lateGate(load);
  const gate = gateOfDoors(staticDoors(auth));
  return auth.anonymous
    ? anonymousGate(gate, { keyHeader: auth.apiKey?.header })
    : gate;
}

/**
 * Returns the path below the server's base path, without parsing the whole URL.
 */
function pathBelow(basePath: string, url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  const path = query === -1 ? url.slice(start) : url.slice(start, query);
  if (path === `${basePath}/mcp/`) return "/mcp";
  if (basePath === "") return path;
  if (path === basePath) return "/";
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
}
