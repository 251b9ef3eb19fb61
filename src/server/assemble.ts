/**
 * The way from a `Request` to a `Response`. Calls go straight to the endpoint;
 * the gate of callers who sign in is loaded with the first call, and the rest,
 * sign-in and pages, with the first request for it.
 *
 * @module
 */
import { durableOf } from "../authoring/durable.ts";
import { aboutOf } from "../authoring/about.ts";
import type { App } from "./app.ts";
import { basePathOf } from "../net/base_path.ts";
import { isStranger } from "../caller.ts";
import { type AuthConfig, isOpen } from "../settings/auth.ts";
import { ConfigError } from "../settings/complaint.ts";
import { isRemote } from "../settings/server.ts";
import { type McpEndpoint, mcpEndpoint } from "../mcp/endpoint.ts";
import type { Engine } from "../mcp/exchange/engine.ts";
import { CallerBound } from "../mcp/exchange/caller_bound.ts";
import { Limits } from "../mcp/exchange/limits.ts";
import { RunningCalls } from "../mcp/exchange/running.ts";
import { Subscriptions } from "../mcp/exchange/subscriptions.ts";
import { DurableRunner } from "../mcp/work/durable_runner.ts";
import { resumeBy } from "../mcp/methods/durable_call.ts";
import type { WaitPages } from "../mcp/exchange/visits.ts";
import { TaskRunner } from "../mcp/work/task_runner.ts";
import {
  anonymousGate,
  type Gate,
  lateGate,
  openGate,
} from "../auth/doors/gate.ts";
import { gateOfDoors } from "../auth/doors/doors.ts";
import { originCheck } from "../auth/doors/origin.ts";
import { staticDoors } from "../auth/doors/static_doors.ts";
import { ChallengeError, HttpError } from "../errors.ts";
import { ArrivingBodies } from "../http/arriving_bodies.ts";
import type { ConnectionInfo } from "../http/connection_info.ts";
import { CORS_HEADERS } from "../http/cors.ts";
import { logFailure } from "../log/failures.ts";
import type { Logger } from "../log/log.ts";
import { newReference } from "../log/reference.ts";
import { cancellationStore } from "../store/cancellations.ts";
import { changeStore } from "../store/changes.ts";
import { ledgerStore } from "../store/ledger.ts";
import { Database } from "../store/database.ts";
import { observedKv } from "../store/observed_kv.ts";
import { replyStore } from "../store/replies.ts";
import { stateStore } from "../store/request_states.ts";
import { sessionStore } from "../store/sessions.ts";
import { taskStore } from "../store/tasks.ts";
import { waitStore } from "../store/waits.ts";
import { telemetry } from "../telemetry/current.ts";
import { isHost } from "../net/host.ts";
import { isTwin, loopbackOriginOf } from "../net/loopback.ts";
import type { Plan } from "./plan.ts";
import type { CreateServerOptions, Server } from "./server_options.ts";

const DAY_SECONDS = 24 * 60 * 60;

/** The most questions that one caller may be asked at a time in one process. */
const QUESTIONS_PER_CALLER = 100;

/** The parts that a planned server is given: its database, clock and so on. */
interface ServerParts
  extends
    Pick<CreateServerOptions, "kv" | "provider" | "fetchDocument" | "clock"> {
  /** The origin it listens on, for a server without `BASE_URL`. */
  origin?: string;
  /** The time an operation on the database may take, in milliseconds. */
  deadlineMilliseconds?: number;
  /** The gate to use in place of the one that the settings select. */
  gate?: Gate;
  /** The options of durable work. */
  runs?: { confirmSeconds: number };
  /** True if `/views` shows the views of tools: in development only. */
  showsViews?: boolean;
}

/** A server, with the parts that the test kit has its hand on. */
export interface Assembled extends Server {
  /** Its durable work. */
  readonly durable: DurableRunner;
}

/** A server at one public address. */
interface AddressedServer {
  gate: Gate;
  mcp: McpEndpoint;
  /** Its other routes, loaded with the first request for one. */
  app(): Promise<App>;
  close(): Promise<void>;
}

/** Puts a planned server together. */
export function assemble(plan: Plan, given: ServerParts): Assembled {
  const { config, options, lifecycle, catalogue } = plan;
  const { provider, fetchDocument, clock } = given;
  if (provider) checkSingleProvider(config.auth);
  const database = new Database(observedKv(given.kv), {
    clock,
    isRemote: config.deployed || isRemote(config.kvPath),
    deadlineMilliseconds: given.deadlineMilliseconds,
    onClockAhead: (seconds) =>
      plan.log.logger("database").warning(
        "The clock of another process is ahead of this one: keep both by NTP",
        { seconds },
      ),
  });
  const log = plan.log.logger("mcp");
  const startLog = plan.log.logger("start");
  const checkOrigin = originCheck(config, { log, clock });
  let home = config.baseUrl ?? given.origin;
  const basePath = home === undefined ? "" : basePathOf(home);
  const servers = new Map<string | undefined, AddressedServer>();
  const stopping = new AbortController();

  /**
   * Gives the server at one public address: that of `home`, or a twin of it.
   */
  function serverAt(baseUrl: string | undefined): AddressedServer {
    const known = servers.get(baseUrl);
    if (known) return known;
    let loading: Promise<App> | undefined;
    function app(): Promise<App> {
      // A load that failed may succeed next time: a file that was away.
      return loading ??= loadApp(checkBaseUrl(baseUrl), addressed).catch(
        (error) => {
          loading = undefined;
          throw error;
        },
      );
    }
    const gate = given.gate ??
      gateOf(config.auth, () => loadGate(baseUrl, app));
    const addressed: AddressedServer = {
      gate,
      mcp: mcpEndpoint({ ...engine, gate, waitPages: waitPagesAt(baseUrl) }),
      app,
      close: async () => await loading?.then((app) => app.close(), () => {}),
    };
    servers.set(baseUrl, addressed);
    return addressed;
  }

  /** The pages on which people answer at one public address. */
  function waitPagesAt(baseUrl: string | undefined): WaitPages | undefined {
    const { oauth } = config.auth;
    if (!oauth || baseUrl === undefined) return undefined;
    const providerIds = oauth.providers.map(({ id }) => id);
    return { waits, baseUrl, providerIds };
  }

  /**
   * Finds the address that a request was sent to. Without `BASE_URL` a server
   * is at every name of its machine, and for a client each of them is a server
   * of its own.
   */
  function addressOf(request: Request): string | undefined {
    home ??= loopbackOriginOf(request);
    if (config.baseUrl !== undefined || home === undefined) return home;
    if (request.url.startsWith(`${home}/`)) return home;
    const { origin } = new URL(request.url);
    return isTwin(origin, home) ? origin : home;
  }

  async function loadGate(
    baseUrl: string | undefined,
    app: AddressedServer["app"],
  ): Promise<Gate> {
    const { callGate } = await import("./call_gate.ts");
    return await callGate({
      auth: config.auth,
      database,
      baseUrl: checkBaseUrl(baseUrl),
      scopes: plan.scopes,
      permissions: plan.permissions,
      upstream: async (key) => (await app()).upstream!(key),
    });
  }

  async function loadApp(
    baseUrl: string,
    { gate, mcp }: AddressedServer,
  ): Promise<App> {
    const { createApp } = await import("./app.ts");
    const { viewHostRoutes } = given.showsViews
      ? await import("../../packages/dev/routes.ts")
      : {};
    return createApp({
      config,
      log: plan.log,
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
            // Strangers may try tools, but a route that authenticates wants a
            // known caller.
            if (!isStranger(found.caller)) return found;
            throw new ChallengeError("Sign in first");
          },
          answer: (token, data) => waits.tell(token, data),
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

  const cancellations = cancellationStore(database);
  const sessions = sessionStore(database);
  const tasks = taskStore(database);
  const waits = waitStore(database);
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
    durable: new DurableRunner(
      database,
      tasks,
      log,
      (...run) => resume(...run),
      given.runs,
    ),
  };
  const resume = resumeBy(engine, () => ({
    waitPages: waitPagesAt(home),
    restore: async (caller) => await serverAt(home).gate.restore(caller),
  }));
  const hasDurable = [...catalogue.tools.values()].some(durableOf);

  /** Looks for durable work, once the address of its callers is known. */
  function notice(): void {
    if (hasDurable && home !== undefined) engine.durable.notice();
  }

  /** Looks once for who calls in place of a request, which may be the first. */
  async function wake(): Promise<void> {
    const { oauth, jwt } = config.auth;
    const needsAddress = oauth !== undefined || jwt !== undefined;
    if (stopping.signal.aborted || needsAddress && home === undefined) return;
    await lifecycle.start();
    await engine.durable.wake();
  }

  /** Finds the path below the server's own, without parsing the whole URL. */
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
    { app, info }: { app: AddressedServer["app"]; info: ConnectionInfo },
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
    const { mcp, app } = serverAt(addressOf(request));
    notice();
    const path = pathOf(request);
    // A router and its middleware would double the cost of a call.
    if (request.method === "POST" && path === "/mcp") {
      telemetry?.nameRoute("POST", `${basePath}/mcp`);
      return mcp.post(request, info);
    }
    return route(request, path, { app, info });
  }

  /**
   * The last host name that was valid: clients call by one name all day long.
   */
  let goodHost: string | null | undefined;

  /**
   * Checks `Host`: the runtime makes the request's URL from it, so a wrong one
   * would change the path or give no URL at all.
   *
   * @throws {HttpError} 400
   */
  function checkHost({ headers, url }: Request): void {
    const name = headers.get("host");
    if (name === null ? URL.canParse(url) : name === goodHost) return;
    if (name === null || !isHost(name)) {
      throw new HttpError(400, "Host must be a name, with a port or without");
    }
    goodHost = name;
  }

  /** Answers what is thrown before a request has reached its route. */
  function refusal(error: unknown): Response {
    if (!(error instanceof HttpError) || error.status >= 500) {
      return failed(log, error, 500, "server_error");
    }
    const { status, message, headers } = error;
    return Response.json(
      { error: "invalid_request", error_description: message },
      { status, headers: { ...CORS_HEADERS, ...headers } },
    );
  }

  function serveSafely(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    try {
      checkHost(request);
      const answer = serve(request, info);
      return answer instanceof Response ? answer : answer.catch(refusal);
    } catch (error) {
      return refusal(error);
    }
  }

  function answer(
    request: Request,
    info: ConnectionInfo,
  ): Response | Promise<Response> {
    return telemetry
      ? telemetry.serve(request.method, () => serveSafely(request, info))
      : serveSafely(request, info);
  }

  async function start(): Promise<void> {
    await lifecycle.start();
    plan.tellDoubts();
    notice();
    const { auth, baseUrl } = config;
    if (auth.oauth && baseUrl !== undefined) {
      database.background(() => tellOfOldAddress(database, baseUrl, startLog));
    }
    // Mistakes in the author's routes are reported now, not to the first
    // visitor.
    if (options.routes && home !== undefined) await serverAt(home).app();
  }

  function endStreams(): void {
    stopping.abort();
    engine.subscriptions.end();
    engine.taskRunner.refuse();
    engine.durable.refuse();
  }

  function stop(): void {
    endStreams();
    engine.running.stop();
    engine.bodies.stop();
  }

  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    await Promise.all([engine.taskRunner.stop(), engine.durable.stop()]);
    await engine.changes.close();
    await ledger?.close();
    for (const addressed of servers.values()) await addressed.close();
    await database.idle();
    await lifecycle.stop();
    await plan.log.flush();
  }

  return {
    fetch: (request, info = {}) =>
      lifecycle.hasStarted ? answer(request, info) : lifecycle.start().then(
        () => answer(request, info),
        (error) => failed(startLog, error, 503, "temporarily_unavailable"),
      ),
    start,
    get running() {
      const { running, taskRunner, durable } = engine;
      return running.size + taskRunner.size + durable.size;
    },
    wake,
    durable: engine.durable,
    endStreams,
    stop,
    close: () => closing ??= closeAll(),
    async [Symbol.asyncDispose]() {
      stop();
      await (closing ??= closeAll());
    },
  };
}

/** Warns of connections that were made at another `BASE_URL`. */
async function tellOfOldAddress(
  database: Database,
  baseUrl: string,
  log: Logger,
): Promise<void> {
  const { noteStart } = await import("../store/last_start.ts");
  const elsewhere = await noteStart(database, baseUrl);
  if (elsewhere === undefined) return;
  log.warning(
    "Connections were made at another BASE_URL, and are not good at this one: " +
      "their people connect again",
    {
      baseUrl,
      formerBaseUrl: elsewhere.baseUrl,
      connections: elsewhere.connections,
    },
  );
}

/** Answers a failure of ours that no route could answer. */
function failed(
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

/**
 * Checks that the server knows its address.
 *
 * @throws {HttpError} 500
 */
function checkBaseUrl(baseUrl: string | undefined): string {
  if (baseUrl !== undefined) return baseUrl;
  throw new HttpError(500, "BASE_URL is not set");
}

/**
 * Checks that the settings leave one place for an app's own provider.
 *
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

/** Makes the gate of the strategies; some are loaded with the first call. */
function gateOf(auth: AuthConfig, load: () => Promise<Gate>): Gate {
  if (isOpen(auth)) return openGate;
  if (auth.oauth || auth.jwt) return lateGate(load);
  const gate = gateOfDoors(staticDoors(auth));
  return auth.anonymous
    ? anonymousGate(gate, { keyHeader: auth.apiKey?.header })
    : gate;
}
