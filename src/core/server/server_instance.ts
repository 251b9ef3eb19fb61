/**
 * A running server, from its start to its end.
 *
 * @module
 */
import { clientAddress, type ConnectionInfo } from "../http/client_address.ts";
import { logFailure, type Logger, newReference } from "../log/log.ts";
import type { OpenedServer } from "../store/opened_server.ts";
import { type AuthConfig, isOpenToAll } from "../settings/auth.ts";
import { ConfigError } from "../settings/complaint.ts";
import { checkLayoutOf } from "../kv/layout.ts";
import { reuseConnections } from "../net/send_once.ts";
import type { Plan } from "./plan.ts";
import {
  openCore,
  type ServerCore,
  type ServerDependencies,
} from "./server_core.ts";
import type { Server } from "./server_options.ts";
import { HttpError } from "../errors.ts";
import { CORS_HEADERS } from "../http/cors.ts";
import {
  basePathOf,
  isHost,
  isLoopbackTwin,
  loopbackOriginOf,
  loopbackTwinsOf,
} from "../net/url.ts";
import { telemetry } from "../telemetry/current.ts";
import { gateOfDoors, staticDoors } from "../auth/doors/doors.ts";
import {
  anonymousGate,
  type Gate,
  lazyGate,
  openGate,
} from "../auth/doors/gate.ts";
import { firstOf } from "../first_of.ts";
import { busyResponse, streamedResponse } from "../http/outgoing_body.ts";
import { networkKey } from "../mcp/exchange/limits.ts";
import {
  responseSending,
  unreadBudget,
} from "../mcp/exchange/unread_answers.ts";
import { type McpEndpoint, mcpEndpoint } from "../mcp/endpoint.ts";
import type { QuestionPages } from "../mcp/exchange/work.ts";
import { mustPause } from "../net/body_bytes.ts";
import type { App } from "./app.ts";

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
      return busyResponse();
    }
    const { routes } = await this.app();
    unreadBudget.checkCaller({ limitKey });
    const url = new URL(request.url);
    const isSame = url.pathname === path;
    url.pathname = path;
    return await streamedResponse(
      await routes.fetch(isSame ? request : new Request(url, request), info),
      () =>
        unreadBudget.admits(limitKey)
          ? responseSending(limitKey, bodies, info)
          : undefined,
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
  if (isOpenToAll(auth)) return openGate;
  if (auth.oauth || auth.jwt) return lazyGate(load);
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

/**
 * The {@linkcode ServerSite} of each base URL, made at the first request for
 * it.
 */
class ServerSites {
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
    return ["", ...baseUrl === undefined ? loopbackTwinsOf(home) : [home]];
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
    return this.#site(isLoopbackTwin(origin, home) ? origin : home);
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
function failureResponse(
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

/** A running server. The test kit uses more of it than {@linkcode Server}. */
export class ServerInstance implements Server {
  readonly #sites: ServerSites;
  readonly #core: ServerCore;
  readonly #endReuse = reuseConnections();
  /**
   * The log of all starts, which logs a repeated failure at most once a second.
   */
  readonly #log: Logger;
  #closing?: Promise<void>;

  constructor(plan: Plan, given: ServerDependencies) {
    if (given.provider) checkSingleProvider(plan.config.auth);
    this.#sites = new ServerSites(plan, given);
    this.#core = this.#sites.core;
    this.#log = plan.log.logger("start");
  }

  fetch = (
    request: Request,
    info: ConnectionInfo = {},
  ): Response | Promise<Response> => {
    const { lifecycle } = this.#core.plan;
    if (lifecycle.hasStarted) return this.#sites.answer(request, info);
    return lifecycle.start().then(
      () => this.#sites.answer(request, info),
      (error) =>
        failureResponse(this.#log, error, 503, "temporarily_unavailable"),
    );
  };

  async start(): Promise<void> {
    const { plan, given, database } = this.#core;
    const { config: { auth, baseUrl }, options } = plan;
    await checkLayoutOf(database);
    await plan.lifecycle.start();
    const reports = () => import("./start_reports.ts");
    if (!plan.isReported && (options.scopes || plan.config.notes.length > 0)) {
      (await reports()).reportDoubts(plan);
    }
    if (!given.findNeeds) {
      for (const { warn } of this.#core.features) await warn?.(this.#log);
    }
    this.#sites.notice();
    if (auth.oauth && baseUrl !== undefined) {
      database.background(async () => {
        const { reportOldAddress } = await reports();
        await reportOldAddress(database, baseUrl, this.#log);
      });
    }
    // Makes the routes now, so that mistakes in the author's are reported at
    // the start.
    if (options.routes && this.#sites.hasHome) await this.#sites.site().app();
  }

  /** Starts the services, then does overdue revocations and durable work. */
  async wake(): Promise<void> {
    const { plan: { config: { auth }, lifecycle }, stopping } = this.#core;
    const needsAddress = auth.oauth !== undefined || auth.jwt !== undefined;
    const hasNone = needsAddress && !this.#sites.hasHome;
    if (stopping.signal.aborted || hasNone) return;
    await lifecycle.start();
    await Promise.all([...this.#core.features.map(({ wake }) => wake?.())]);
  }

  get running(): number {
    const { features, engine: { running } } = this.#core;
    return features.reduce((sum, { size = 0 }) => sum + size, running.size);
  }

  /** The server as features see it, for the test kit. */
  get opened(): OpenedServer {
    return this.#core.opened;
  }

  endStreams(): void {
    const { stopping, engine, features } = this.#core;
    stopping.abort();
    engine.subscriptions.end();
    for (const feature of features) feature.refuse?.();
  }

  stop(): void {
    const { engine } = this.#core;
    this.endStreams();
    engine.running.stop();
    engine.bodies.stop();
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    const { plan, database, engine, features } = this.#core;
    this.#endReuse();
    for (const feature of features) await feature.stop?.();
    await engine.changes.close();
    await engine.ledger?.close();
    await this.#sites.close();
    await database.idle();
    await plan.lifecycle.stop();
    await plan.log.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.close();
  }
}

/**
 * Checks that the settings list at most one provider if the app has its own,
 * which then replaces the listed one.
 * @throws {ConfigError}
 */
function checkSingleProvider({ oauth }: AuthConfig): void {
  const keys = oauth?.providers.map(({ key }) => key) ?? [];
  if (keys.length < 2) return;
  throw new ConfigError([{
    variable: "OAUTH_PROVIDER",
    got: keys.join(),
    wants: "one provider, because the app brings its own in its place",
    fix: "Leave `provider` out of the app's options, or list one",
  }]);
}
