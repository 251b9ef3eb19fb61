/**
 * All routes of a server, in the order in which a client uses them; the limits
 * on the bodies that an author's routes read; and the reports of requests
 * outside `POST /mcp`: one log line with the client, the route and the failure,
 * and telemetry.
 *
 * @module
 */
import { type Context, Hono, type MiddlewareHandler } from "@hono/hono";
import { cors } from "@hono/hono/cors";
import { firstOf } from "../first_of.ts";
import { type Gate, hostCheck } from "../auth/doors/gate.ts";
import type { PersonRecords } from "../auth/grants/end_grant.ts";
import {
  CONNECT_STEPS,
  type SignIn,
} from "../auth/server/authorization_server.ts";
import { isStranger } from "../caller.ts";
import { ChallengeError, HttpError, OAuthError } from "../errors.ts";
import {
  type AppEnv,
  clientAddress,
  isOfUnnamedProxy,
} from "../http/client_address.ts";
import { EXPOSED_HEADERS } from "../http/cors.ts";
import { readiness } from "../http/readiness.ts";
import { basePathOf, isLoopback } from "../net/url.ts";
import { type Logger, newReference } from "../log/log.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import { callbackHandler } from "../pages/callback_page.tsx";
import { prefersPage } from "../pages/respond.ts";
import { makeProbe } from "../kv/probe.ts";
import { isError } from "../thrown.ts";
import { errorAnswer } from "./error_answer.ts";
import type { BodyBounds, RoutesContext } from "./server_options.ts";
import type { HomePage } from "./feature.ts";
import type { ServerCore } from "./server_core.ts";
import { signInAt } from "./sign_in.ts";
import { routePath } from "@hono/hono/route";
import { printAddress } from "../net/address.ts";
import { telemetry } from "../telemetry/current.ts";
import { knownMethodName } from "../telemetry/redaction.ts";
import { longMessageBudget, networkKey } from "../mcp/exchange/limits.ts";
import {
  BODY_SECONDS,
  type BodyClock,
  BoundedBody,
} from "../net/body_bytes.ts";
import { BODY_BYTES } from "../protocol/messages.ts";

/**
 * Matches routes that machines request all day. They are logged at `debug`
 * unless the status is 500 or more.
 */
const ROUTINE = /^\/(?:health|ready|mcp|\.well-known\/.*)?$/;

/**
 * Makes the middleware that logs requests, by route and not by path, because
 * paths may contain secrets.
 */
function requestLog(log: Logger): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const startedMilliseconds = performance.now();
    await next();
    const level = levelFor(c);
    if (!log.isEnabledFor(level)) return;
    const { refusal, outcome } = outcomeOf(c);
    const address = c.get("address");
    log[level]("Request", {
      reference: c.get("reference"),
      clientId: c.get("clientId"),
      grantId: c.get("grantId"),
      address: address && printAddress(address),
      method: `${knownMethodName(c.req.method)} ${routePath(c, -1)}`,
      status: c.res.status,
      durationMilliseconds: Math.round(performance.now() - startedMilliseconds),
      outcome,
      refusal,
    });
  };
}

function levelFor(c: Context<AppEnv>): keyof Logger & ("debug" | "info") {
  const { status } = c.res;
  if (status >= 500) return "info";
  // Scanners try every possible path.
  return status === 404 || ROUTINE.test(routePath(c, -1)) ? "debug" : "info";
}

function outcomeOf(c: Context<AppEnv>): { outcome: string; refusal?: string } {
  const { error } = c;
  const refusal = c.get("refusal");
  if (error === undefined) {
    if (refusal) return { outcome: "refused", refusal };
    const { status } = c.res;
    if (status < 400) return { outcome: "ok" };
    return { outcome: status < 500 ? "refused" : "internal_error" };
  }
  const isOurs = error instanceof OAuthError || error instanceof HttpError;
  if (!isOurs) {
    // Below 500 it is an `HTTPException` of the author's; its text is not
    // logged.
    return { outcome: c.res.status < 500 ? "refused" : "internal_error" };
  }
  return { outcome: "refused", refusal: error.message };
}

/**
 * Makes the middleware that names each request by its route, and measures the
 * steps of a sign-in.
 */
function observedRoutes(baseUrl: string): MiddlewareHandler<AppEnv> {
  const base = basePathOf(baseUrl);
  return async (c, next) => {
    if (!telemetry) return await next();
    const startedMilliseconds = performance.now();
    await next();
    const { method } = c.req;
    const route = routePath(c, -1);
    // At a path without a route, only middleware matches.
    if (route === "/*" || route === "*") return;
    telemetry.nameRoute(method, base + route);
    const step = `${method} ${route}`;
    if (!CONNECT_STEPS.includes(step)) return;
    telemetry.reportStep({
      step,
      grantType: c.get("grantType"),
      outcome: outcomeOf(c).outcome,
      errorType: errorTypeOf(c),
      startedMilliseconds,
    });
  };
}

/**
 * Returns the OAuth error code of a failed request, or its status if there is
 * no code.
 */
function errorTypeOf(c: Context<AppEnv>): string | undefined {
  if (c.error instanceof OAuthError) return c.error.code;
  if (c.error) return String(c.res.status);
  // The recorded failure of an attempt begins with its error code.
  return /^\w+/.exec(c.get("refusal") ?? "")?.[0];
}

/**
 * The number of chunks that a route's body may have beyond those of a form,
 * because some programs send a file line by line.
 */
const MORE_CHUNKS = 900;

/** The limited bodies, keyed by the request that a route gets. */
const bodies = new WeakMap<Request, BoundedBody>();

/**
 * Makes the middleware that limits the bodies of requests to an author's
 * routes.
 */
function boundedBodies(
  clock: BodyClock,
  isAuthors: (c: Context<AppEnv>) => boolean,
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { raw } = c.req;
    if (!isAuthors(c) || raw.body === null) return await next();
    const limitKey = networkKey(c.get("address"));
    let isAnswered = false;
    let messageBytes = 0;
    const body = new BoundedBody(raw, {
      clock,
      sender: () => limitKey.name,
      moreChunks: MORE_CHUNKS,
      onArrived(bytes) {
        if (isAnswered) return;
        longMessageBudget.check({ limitKey, messageBytes: bytes });
        messageBytes = bytes;
        longMessageBudget.count(limitKey, bytes);
      },
    }, BODY_BYTES);
    c.req.raw = new Request(raw, { body: body.stream });
    bodies.set(c.req.raw, body);
    try {
      await next();
    } finally {
      isAnswered = true;
      longMessageBudget.count(limitKey, -messageBytes);
    }
  };
}

/**
 * Allows a longer or slower body for a request, if none of it was read yet.
 *
 * @throws {TypeError} for bounds that are not numbers above 0
 */
export function allowBody(
  request: Request,
  { bytes = BODY_BYTES, seconds = BODY_SECONDS }: BodyBounds,
): void {
  if (!(bytes > 0 && seconds > 0)) {
    throw new TypeError("allowBody: bytes and seconds are numbers above 0");
  }
  bodies.get(request)?.allow(bytes, seconds);
}

/** The routes, and the part of the sign-in that tools use. */
export interface App extends Pick<SignIn, "upstream" | "exchange"> {
  routes: Hono<AppEnv>;
  /** Ends background work, after the last request. */
  close(): Promise<void>;
}

/** Health checks. Their `Host` is not checked, because they reveal nothing. */
const PROBES: ReadonlySet<string> = new Set(["/health", "/ready"]);

const ALLOWED_METHODS = "POST, DELETE, OPTIONS";

/**
 * Adds every route; {@linkcode import("./server_instance.ts").ServerSite} itself
 * handles `POST /mcp`.
 */
export async function createApp(
  core: ServerCore,
  { baseUrl, gate, mcp }: { baseUrl: string; gate: Gate; mcp: McpEndpoint },
): Promise<App> {
  const { plan, given, engine, database, stopping } = core;
  const { config, permissions, options: about } = plan;
  // Public pages show only what everyone may use.
  const catalogue = plan.catalogue.within(permissions && []);
  const shown = {
    config,
    about,
    baseUrl,
    catalogue,
    isDevelopment: given.isDevelopment === true,
    checkOrigin: engine.checkOrigin,
    stopping: stopping.signal,
  };
  const pages = firstOf(plan.features, (it) => it.signedInPages);
  const home = await firstOf(plan.features, (it) => it.homePage?.(shown));
  const { app: signIn, providers = [], upstream, exchange, close } = signInAt(
    core,
    baseUrl,
    await recordsOf(core),
    await pages?.(plan.features),
  );
  const app = new Hono<AppEnv>();
  const owner = { isAuthors: (_: Context<AppEnv>) => false };

  addMiddleware(app, core, baseUrl, (c) => owner.isAuthors(c));
  addCallRoutes(app, mcp, engine, home);
  app.route("/", signIn);
  app.get("/oauth/callback", callbackHandler({ config, about, baseUrl }));
  app.get(
    "/health",
    (c) => c.json({ status: "ok", timestamp: database.clock() }),
  );
  app.get(
    "/ready",
    readiness({
      probeDatabase: makeProbe(database),
      providers: () =>
        providers.map(({ key, reachability }) => ({ key, is: reachability() })),
      faults: Object.assign(
        {},
        ...await Promise.all(core.features.map((it) => it.faults?.())),
      ),
      isStopping: () => stopping.signal.aborted,
    }),
  );
  if (home) app.get("/", (c) => home(c));
  for (const { routes } of plan.features) await routes?.(app, shown);
  owner.isAuthors = addOwnRoutes(app, core, gate);
  app.notFound((c) => refuseRoute(app, c));
  app.onError(errorAnswer({
    log: plan.log.logger("http"),
    page: { serverTitle: config.title, about, baseUrl },
    challenge: (refusal) => gate.challenge(refusal),
  }));

  return {
    routes: app,
    upstream,
    exchange,
    close: async () => await close?.(),
  };
}

/**
 * Opens the records that features keep about people, in the order of the
 * features.
 */
async function recordsOf({ features }: ServerCore): Promise<PersonRecords[]> {
  const records = features.flatMap(({ records }) => records?.() ?? []);
  return (await Promise.all(records)).flat();
}

/**
 * Adds the middleware of all requests: CORS headers, the reference for the log,
 * the request log, the check of `Host`, and limits on bodies. The author's
 * routes handle requests from other origins themselves; on loopback, these
 * requests are refused as on `/mcp`.
 */
function addMiddleware(
  app: Hono<AppEnv>,
  { plan, engine: { checkOrigin, bodies } }: ServerCore,
  baseUrl: string,
  isAuthors: (c: Context<AppEnv>) => boolean,
): void {
  const { config } = plan;
  const isLocal = isLoopback({ hostname: config.host });
  const log = plan.log.logger("http");
  const checkHost = hostCheck(config, log);
  const shareWithAll = cors({
    origin: "*",
    allowMethods: ["GET", "POST", "DELETE", "OPTIONS"],
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: 86_400,
  });
  app.use((c, next) => isAuthors(c) ? next() : shareWithAll(c, next));
  let isProxyTold = config.deployed;
  app.use((c, next) => {
    const peer = c.env?.remoteAddr?.hostname;
    const { headers } = c.req.raw;
    if (
      !isProxyTold && isOfUnnamedProxy(peer, headers, config.trustedProxies)
    ) {
      isProxyTold = true;
      log.warning(
        "A proxy passes requests on that TRUSTED_PROXIES does not name: all " +
          "who come through it share one limit",
        { address: peer },
      );
    }
    c.set("address", clientAddress(peer, headers, config.trustedProxies));
    c.set("reference", newReference());
    return next();
  });
  app.use(requestLog(log));
  app.use(observedRoutes(baseUrl));
  app.use(async (_c, next) => {
    try {
      await next();
    } catch (thrown) {
      // Hono passes on only errors, and a route may throw any value.
      throw isError(thrown)
        ? thrown
        : new Error("A route threw what is no error", { cause: thrown });
    }
  });
  app.use((c, next) => {
    if (!PROBES.has(c.req.path)) checkHost(c.req.raw);
    if (isLocal && isAuthors(c)) checkOrigin(c.req.raw);
    return next();
  });
  app.use(boundedBodies(bodies, isAuthors));
}

/**
 * Adds the routes of `/mcp`. `ServerSite` handles most calls before a request
 * gets here.
 */
function addCallRoutes(
  app: Hono<AppEnv>,
  mcp: McpEndpoint,
  { checkOrigin }: ServerCore["engine"],
  home: HomePage | undefined,
): void {
  app.post("/mcp", (c) => mcp.post(c.req.raw, c.env));
  app.delete("/mcp", (c) => mcp.delete(c.req.raw, c.env));
  app.get("/mcp", (c, next) => {
    checkOrigin(c.req.raw);
    if (!home || !prefersPage(c)) return next();
    c.header("allow", ALLOWED_METHODS);
    return home(c, {
      status: 405,
      notice: "MCP clients talk to this address; a browser can only read on.",
    });
  });
  app.all("/mcp", () => {
    throw new HttpError(405, "This is an MCP endpoint: clients POST to it", {
      headers: { allow: ALLOWED_METHODS },
    });
  });
}

/** @throws {HttpError} 404, or 405 if the path has routes for other methods */
function refuseRoute(app: Hono<AppEnv>, { req }: Context<AppEnv>): never {
  const known = methodsAt(app, req.path);
  if (known.length === 0) {
    throw new HttpError(404, "There is nothing at this address");
  }
  const allow = [...known, "OPTIONS"].join(", ");
  throw new HttpError(405, `The method must be one of ${allow} here`, {
    headers: { allow },
  });
}

/**
 * Lists the methods that have a route at a path; the route may have parameters.
 */
function methodsAt(app: Hono<AppEnv>, path: string): string[] {
  const methods = new Set(app.routes.map(({ method }) => method));
  for (const method of ["ALL", "OPTIONS"]) methods.delete(method);
  return [...methods].sort().filter((method) => {
    const [handlers] = app.router.match(method, path);
    // Middleware matches all methods, also at paths that have no route.
    return handlers.some(([[, route]]) => route.method === method);
  });
}

/**
 * Adds the author's routes last, so that none replaces a route of the server.
 * Returns a function that is true for requests to the author's routes.
 *
 * @throws {Error} if one has the method and path of a route of the server
 */
function addOwnRoutes(
  app: Hono<AppEnv>,
  { plan: { options, lifecycle }, engine: { checkOrigin }, features }:
    ServerCore,
  gate: Gate,
): (c: Context<AppEnv>) => boolean {
  if (!options.routes) return () => false;
  const context: RoutesContext = {
    ...lifecycle.provide(options),
    async authenticate(request) {
      checkOrigin(request);
      const found = await gate.authenticate(request.headers);
      // Anonymous callers may try tools, but `authenticate()` in a route
      // requires a known caller.
      if (!isStranger(found.caller)) return found;
      throw new ChallengeError("Sign in first");
    },
    async answer(token, data) {
      for (const feature of features) {
        if (await feature.answerWebhook?.(token, data)) return true;
      }
      return false;
    },
    allowBody,
  };
  const own = new Hono();
  options.routes(own, context);
  const servers = new Hono();
  const taken = new Set<string>();
  for (const { method, path, handler } of app.routes) {
    if (path === "/*") continue;
    servers.on(method, path, handler);
    taken.add(method + path);
  }
  for (const { method, path } of own.routes) {
    if (!taken.has(method + path) && !/^\/mcp\/?$/.test(path)) continue;
    throw new Error(`routes: ${method} ${path} is the server's own`);
  }
  app.route("/", own);
  return ({ req }) => {
    const asked = req.method === "OPTIONS"
      ? req.header("access-control-request-method")
      : undefined;
    const named = asked ?? req.method;
    const method = named === "HEAD" ? "GET" : named;
    const answers = ({ router }: Hono) =>
      router.match(method, req.path)[0].length > 0;
    return !answers(servers) && answers(own);
  };
}
