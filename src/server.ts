/**
 * Everything between a `Request` and a `Response`. Calls go straight to the
 * endpoint; the rest, sign-in and pages, is loaded with the first request for
 * it.
 *
 * @module
 */
import type { Hono } from "@hono/hono";
import type { Icon, Implementation } from "@modelcontextprotocol/server";
import { type About, aboutComplaints, aboutOf } from "./about.ts";
import type { App } from "./app.ts";
import type { Around } from "./authoring/around.ts";
import { type Needing, needsOf } from "./authoring/needs.ts";
import {
  scopeComplaints,
  type ScopeDefinitions,
  type Scopes,
  scopesOf,
} from "./authoring/scope.ts";
import type { Services, ServiceValues } from "./authoring/service.ts";
import type { SettingSchemas, SettingValues } from "./authoring/setting.ts";
import { basePathOf } from "./base_path.ts";
import { type Authenticated, isStranger } from "./caller.ts";
import { type AuthConfig, isOpen } from "./config/auth.ts";
import { type Config, parseConfig } from "./config/config.ts";
import type { Environment } from "./config/environment.ts";
import { type McpEndpoint, mcpEndpoint } from "./engine/endpoint.ts";
import type { Engine } from "./engine/engine.ts";
import { CallerBound } from "./engine/caller_bound.ts";
import { Lifecycle } from "./engine/lifecycle.ts";
import { Limits } from "./engine/limits.ts";
import { provideNeeds } from "./engine/provide.ts";
import { RunningCalls } from "./engine/running.ts";
import { Subscriptions } from "./engine/subscriptions.ts";
import { TaskRunner } from "./engine/tasks/task_runner.ts";
import { anonymousGate } from "./gates/anonymous_gate.ts";
import { gateOfDoors } from "./gates/doors.ts";
import { type Gate, lateGate, openGate } from "./gates/gate.ts";
import { originCheck } from "./gates/origin.ts";
import { staticDoors } from "./gates/static_gate.ts";
import { ChallengeError, HttpError } from "./errors.ts";
import { ArrivingBodies } from "./http/arriving_bodies.ts";
import type { ConnectionInfo } from "./http/connection_info.ts";
import { CORS_HEADERS } from "./http/cors.ts";
import { type Logger, logger } from "./log.ts";
import { isLoopback } from "./loopback.ts";
import {
  type DecidePermissions,
  type Permissions,
  permissionsOf,
} from "./oauth/permissions.ts";
import {
  type Catalogue,
  CatalogueError,
  compileCatalogue,
  type Definitions,
} from "./protocol/catalogue.ts";
import { cancellationStore } from "./store/cancellations.ts";
import { changeStore } from "./store/changes.ts";
import { ledgerStore } from "./store/ledger.ts";
import { Database } from "./store/database.ts";
import type { FetchDocument } from "./store/documents.ts";
import { observedKv } from "./store/observed_kv.ts";
import { replyStore } from "./store/replies.ts";
import { stateStore } from "./store/request_states.ts";
import { sessionStore } from "./store/sessions.ts";
import { taskStore } from "./store/tasks.ts";
import { telemetry } from "./telemetry.ts";
import type { Provider } from "./upstream/provider.ts";

/** What an author says about a server. */
export interface ServerOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends Definitions, About {
  /** `serverInfo.name`: a short name for programs, such as `my-tools`. */
  name: string;
  /** `serverInfo.version`: your own. */
  version: string;
  /** What people see; `MCP_TITLE` goes before it, `name` stands in for it. */
  title?: string;
  /** Pictures for clients to show. */
  icons?: Icon[];
  /** What a model is told about using it; `MCP_INSTRUCTIONS` goes before it. */
  instructions?: string;
  /** Words for scopes on the consent page, and which wait for a step-up. */
  scopes?: ScopeDefinitions;
  /**
   * The scopes that a person may be granted, asked at every sign-in, token and
   * call. Where `OAUTH_PERMISSIONS` is set too, both must allow a scope.
   */
  permissions?: DecidePermissions;
  /** Settings that `routes` needs. */
  settings?: S;
  /** Services that `routes` needs, or that run next to the tools. */
  services?: V;
  /**
   * Adds routes of your own, such as webhooks and pages, to a Hono application
   * that answers what the server itself does not. They are public: call
   * `authenticate` where they should not be.
   */
  routes?(app: Hono, context: RoutesContext<S, V>): void;
  /** Runs around every tool call. */
  around?: Around;
}

/** What routes of your own are given. */
export interface RoutesContext<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> {
  /** The values of the settings that the server declares. */
  readonly settings: SettingValues<S>;
  /** The services that the server declares, started. */
  readonly services: ServiceValues<V>;
  /**
   * Who sent a request, by the same credentials as `/mcp`. What it throws
   * becomes the 401 with its challenge.
   */
  authenticate(request: Request): Promise<Authenticated>;
}

/** What a server needs besides what its author says. */
export interface CreateServerOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends ServerOptions<S, V> {
  /**
   * The database; one handle for the whole process. `await Deno.openKv()`, or
   * that of `npm:@deno/kv`.
   */
  kv: Deno.Kv;
  /**
   * The settings by name, such as `Deno.env.toObject()`. Nothing else is read.
   */
  env?: Environment;
  /** Who people sign in with, in place of the provider the settings name. */
  provider?: Provider;
  /** Fetches what clients publish; from public addresses only by default. */
  fetchDocument?: FetchDocument;
  /** Gives the present in epoch milliseconds; `Date.now` by default. */
  clock?: () => number;
}

/** A server apart from its socket. */
export interface Server extends AsyncDisposable {
  /** Answers a request. It may be passed on without its object. */
  fetch(
    request: Request,
    info?: ConnectionInfo,
  ): Response | Promise<Response>;
  /**
   * Starts the services. The first request does so too.
   *
   * @throws {import("./engine/lifecycle.ts").ServiceError}
   */
  start(): Promise<void>;
  /** Requests, streams and tasks that are being worked on. */
  readonly running: number;
  /**
   * Ends subscriptions and takes no new ones, nor new tasks, and is not ready
   * any more: the first step of a stop. Calls go on and are still answered.
   */
  endStreams(): void;
  /** Tells everything that is still running to end. */
  stop(): void;
  /** Ends background work and services, after the last request. */
  close(): Promise<void>;
}

const DAY_SECONDS = 24 * 60 * 60;

/** What one caller may be asked at a time in one process. */
const QUESTIONS_PER_CALLER = 100;

/** A server's options and settings, checked. */
export interface Plan {
  options: ServerOptions;
  config: Config;
  scopes: Scopes;
  /** Undefined: everyone may be granted everything. */
  permissions?: Permissions;
  lifecycle: Lifecycle;
  /** What is served, compiled when it is first asked for. */
  readonly catalogue: Catalogue;
}

/**
 * Builds a server.
 *
 * @example
 * ```ts
 * import { createServer, tool } from "@tool-server/tool-server";
 *
 * await using server = createServer({
 *   name: "greeter",
 *   version: "1.0.0",
 *   tools: [tool({ name: "greet", run: () => "Hello!" })],
 *   kv: await Deno.openKv(":memory:"),
 * });
 * const response = await server.fetch(new Request("http://localhost/health"));
 * ```
 * @throws {import("./config/environment.ts").ConfigError} with every complaint
 * about the settings
 * @throws {CatalogueError} with every complaint about the definitions
 */
export function createServer<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(options: CreateServerOptions<S, V>): Server {
  return assemble(planServer(options, options.env ?? {}), options);
}

/** Checks options and settings. @throws as {@linkcode createServer} */
export function planServer(
  options: ServerOptions,
  env: Environment,
  denied?: ReadonlySet<string>,
): Plan {
  const { name, title = name, instructions } = options;
  const needs = needsOf(needing(options));
  const complaints = [
    ...needs.complaints,
    ...aboutComplaints(options),
    ...scopeComplaints(options.scopes),
  ];
  if (complaints.length > 0) throw new CatalogueError(complaints);
  const { settings } = needs;
  const scopes = scopesOf(neededScopes(options), options.scopes);
  const config = parseConfig(env, {
    title,
    instructions,
    settings,
    denied,
    scopes: scopes.supported,
  });
  const { oauth } = config.auth;
  const permissions = oauth && permissionsOf({
    rules: oauth.permissions,
    decide: options.permissions,
    supported: scopes.supported,
  });
  const lifecycle = new Lifecycle(needs.services, config.own, logger("start"));
  let catalogue: Catalogue | undefined;
  return {
    options,
    config,
    scopes,
    permissions,
    lifecycle,
    get catalogue() {
      return catalogue ??= compile(options, config, {
        lifecycle,
        listsVary: permissions !== undefined,
      });
    },
  };
}

/** Everything that may declare settings and services. */
export function needing(options: ServerOptions): Needing[] {
  const { tools = [], resources = [], prompts = [] } = options;
  return [...tools, ...resources, ...prompts, options];
}

/** The scopes that something needs, in the order of the definitions. */
function neededScopes(options: ServerOptions): string[] {
  const { tools = [], resources = [], prompts = [], skills = [] } = options;
  return [...tools, ...resources, ...prompts, ...skills].flatMap((
    { scopes = [] },
  ) => scopes);
}

/** What a planned server runs on. */
export interface Surroundings
  extends
    Pick<CreateServerOptions, "kv" | "provider" | "fetchDocument" | "clock"> {
  /** Where it listens, for a server without `BASE_URL`. */
  origin?: string;
  /** How long an operation on the database may take. */
  deadlineMilliseconds?: number;
  /** Who may pass, in place of the gate the settings name. */
  gate?: Gate;
  /** Where calls are logged, in place of the process's log. */
  log?: Logger;
  /** Whether `/views` shows the views of tools: in development only. */
  showsViews?: boolean;
}

/** A server at one public address. */
interface Place {
  gate: Gate;
  mcp: McpEndpoint;
  /** Its other routes, loaded with the first request for one. */
  app(): Promise<App>;
  close(): Promise<void>;
}

/** Puts a planned server together. */
export function assemble(plan: Plan, surroundings: Surroundings): Server {
  const { config, options, lifecycle, catalogue } = plan;
  const { provider, fetchDocument, clock } = surroundings;
  const database = new Database(observedKv(surroundings.kv), {
    clock,
    isRemote: isRemote(config),
    deadlineMilliseconds: surroundings.deadlineMilliseconds,
  });
  const checkOrigin = originCheck(config);
  let home = config.baseUrl ?? surroundings.origin;
  const basePath = home === undefined ? "" : basePathOf(home);
  const places = new Map<string | undefined, Place>();
  const stopping = new AbortController();

  /** The server at one public address: that of `home`, or a twin of it. */
  function placeAt(baseUrl: string | undefined): Place {
    const known = places.get(baseUrl);
    if (known) return known;
    let loading: Promise<App> | undefined;
    function app(): Promise<App> {
      if (baseUrl === undefined) {
        throw new HttpError(500, "BASE_URL is not set");
      }
      return loading ??= loadApp(baseUrl, place);
    }
    const gate = surroundings.gate ??
      gateOf(config.auth, async () => (await app()).gate!);
    const place: Place = {
      gate,
      mcp: mcpEndpoint({ ...engine, gate }),
      app,
      close: async () => await loading?.then((app) => app.close(), () => {}),
    };
    places.set(baseUrl, place);
    return place;
  }

  /**
   * Where a request was sent. Without `BASE_URL` a server is at every name of
   * its machine, and to a client each of them is a server of its own.
   */
  function addressOf(request: Request): string | undefined {
    home ??= loopbackOriginOf(request);
    if (config.baseUrl !== undefined || home === undefined) return home;
    if (request.url.startsWith(`${home}/`)) return home;
    const { origin } = new URL(request.url);
    return isTwin(origin, home) ? origin : home;
  }

  async function loadApp(
    baseUrl: string,
    { gate, mcp }: Place,
  ): Promise<App> {
    const { createApp } = await import("./app.ts");
    const { viewHostRoutes } = surroundings.showsViews
      ? await import("./view_host/routes.ts")
      : {};
    return createApp({
      config,
      database,
      sessions,
      ledger,
      baseUrl,
      about: aboutOf(options),
      catalogue,
      scopes: plan.scopes,
      permissions: plan.permissions,
      provider,
      fetchDocument,
      checkOrigin,
      mcp,
      addRoutes: options.routes && ((app) =>
        options.routes!(app, {
          ...lifecycle.provide(options),
          authenticate: async (request) => {
            checkOrigin(request);
            const found = await gate.authenticate(request.headers);
            // Strangers try tools out; a route that asks wants to know who.
            if (!isStranger(found.caller)) return found;
            throw new ChallengeError("Sign in first");
          },
        })),
      viewHost: viewHostRoutes?.({
        catalogue,
        serverTitle: config.title,
        checkOrigin,
        stopping: stopping.signal,
      }),
      challenge: (refusal) => gate.challenge(refusal),
      isStopping: () => stopping.signal.aborted,
    });
  }

  const { log = logger("mcp") } = surroundings;
  const cancellations = cancellationStore(database);
  const sessions = sessionStore(database);
  const tasks = taskStore(database);
  const questions = new CallerBound(QUESTIONS_PER_CALLER, "open questions");
  const { ledgerDays = 0 } = config.auth.oauth ?? {};
  const ledger = ledgerDays > 0
    ? ledgerStore(database, { keepSeconds: ledgerDays * DAY_SECONDS, log })
    : undefined;
  const engine: Omit<Engine, "gate"> = {
    ledger,
    limits: new Limits({ database, log }, {
      callsPerMinute: config.callsPerMinute,
      tools: catalogue.tools,
    }),
    trustedProxies: config.trustedProxies,
    catalogue,
    checkOrigin,
    log,
    around: options.around,
    running: new RunningCalls(cancellations, database.clock, log),
    bodies: new ArrivingBodies(database.clock),
    subscriptions: new Subscriptions(),
    questions,
    clock: database.clock,
    sessions,
    replies: replyStore(database),
    cancellations,
    changes: changeStore(
      database,
      (error) => log.warning("Changes could not be read", { error }),
    ),
    requestStates: stateStore(database),
    tasks,
    taskRunner: new TaskRunner(tasks, database.clock, log, questions),
  };
  /** The path below the server's own, without parsing the whole URL. */
  function pathOf({ url }: Request): string {
    const start = url.indexOf("/", url.indexOf("//") + 2);
    const query = url.indexOf("?", start);
    const path = query === -1 ? url.slice(start) : url.slice(start, query);
    if (path === `${basePath}/mcp/`) return "/mcp";
    if (basePath === "") return path;
    if (path === basePath) return "/";
    return path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path;
  }

  async function route(
    request: Request,
    path: string,
    { app, info }: { app: Place["app"]; info: ConnectionInfo },
  ): Promise<Response> {
    const { routes } = await app();
    const url = new URL(request.url);
    if (url.pathname === path) return await routes.fetch(request, info);
    url.pathname = path;
    return await routes.fetch(new Request(url, request), info);
  }

  function serve(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    const { mcp, app } = placeAt(addressOf(request));
    const path = pathOf(request);
    // A router and its middleware would cost a call as much as the rest of it.
    if (request.method === "POST" && path === "/mcp") {
      telemetry?.nameRoute("POST", `${basePath}/mcp`);
      return mcp.post(request, info);
    }
    return route(request, path, { app, info });
  }

  function answer(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    return telemetry
      ? telemetry.serve(() => serve(request, info))
      : serve(request, info);
  }

  async function start(): Promise<void> {
    await lifecycle.start();
    // What is wrong with them is told now, not to the first visitor.
    if (options.routes && home !== undefined) await placeAt(home).app();
  }

  function endStreams(): void {
    stopping.abort();
    engine.subscriptions.end();
    engine.taskRunner.refuse();
  }

  function stop(): void {
    endStreams();
    engine.running.stop();
    engine.bodies.stop();
  }

  async function close(): Promise<void> {
    await engine.taskRunner.stop();
    await engine.changes.close();
    await ledger?.close();
    for (const place of places.values()) await place.close();
    await database.idle();
    await lifecycle.stop();
  }

  return {
    fetch: (request, info = {}) =>
      lifecycle.hasStarted
        ? answer(request, info)
        : lifecycle.start().then(() => answer(request, info), notStarted),
    start,
    get running() {
      return engine.running.size + engine.taskRunner.size;
    },
    endStreams,
    stop,
    close,
    async [Symbol.asyncDispose]() {
      stop();
      await close();
    },
  };
}

/** What is served, checked and printed once. */
function compile(
  options: ServerOptions,
  config: Config,
  { lifecycle, listsVary }: { lifecycle: Lifecycle; listsVary: boolean },
): Catalogue {
  const { name, version, description, websiteUrl, icons } = options;
  const serverInfo: Implementation = {
    name,
    title: config.title,
    version,
    ...(description !== undefined && { description }),
    ...(websiteUrl !== undefined && { websiteUrl }),
    ...(icons !== undefined && { icons }),
  };
  const { instructions } = config;
  return compileCatalogue(provideNeeds(options, lifecycle), {
    serverInfo,
    instructions,
    listsVary,
    anonymous: config.auth.anonymous === true &&
      (config.auth.oauth ?? config.auth.jwt) !== undefined,
  });
}

function notStarted(error: unknown): Response {
  logger("start").error("Not started", { error });
  return Response.json({ error: "temporarily_unavailable" }, {
    status: 503,
    headers: { ...CORS_HEADERS, "retry-after": "5" },
  });
}

/** Whether the database is one for several machines. */
function isRemote({ kvPath, deployed }: Config): boolean {
  return deployed || /^https?:/.test(kvPath ?? "");
}

/** The names of this machine, so that strangers cannot make more of them. */
const LOOPBACK_ORIGIN = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** Whether two origins differ in the name of this machine alone. */
function isTwin(one: string, other: string): boolean {
  const [first, second] = [
    LOOPBACK_ORIGIN.exec(one),
    LOOPBACK_ORIGIN.exec(other),
  ];
  return first !== null && second !== null && first[1] === second[1];
}

/** The origin of a request that came to a loopback address. */
function loopbackOriginOf({ url }: Request): string | undefined {
  const parsed = new URL(url);
  return isLoopback(parsed) ? parsed.origin : undefined;
}

/** The gate of the strategies; it takes all of `app.ts` to know some callers. */
function gateOf(auth: AuthConfig, load: () => Promise<Gate>): Gate {
  if (isOpen(auth)) return openGate;
  if (auth.oauth || auth.jwt) return lateGate(load);
  const gate = gateOfDoors(staticDoors(auth));
  return auth.anonymous
    ? anonymousGate(gate, { keyHeader: auth.apiKey?.header })
    : gate;
}
