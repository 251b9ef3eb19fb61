/**
 * Every route, in the order a client walks them.
 *
 * @module
 */
import { Hono } from "@hono/hono";
import { cors } from "@hono/hono/cors";
import type { About } from "../authoring/about.ts";
import type { Scopes } from "../authoring/scope.ts";
import { clientAddress } from "../http/client_address.ts";
import type { Config } from "../settings/config.ts";
import { providerSetting } from "../settings/application.ts";
import { type ListedProvider, renameFor } from "../settings/providers.ts";
import { errorAnswer } from "./error_answer.ts";
import { type ChallengeError, HttpError } from "../errors.ts";
import { type SignIn, signIn } from "../auth/server/sign_in.ts";
import { callback } from "../auth/server/client_callback.ts";
import {
  type DevProvider,
  devProvider,
} from "../auth/provider/dev/dev_provider.ts";
import { discoveryRoutes } from "../discovery/routes.ts";
import type { Passing } from "../http/passing.ts";
import type { Log } from "../log/log.ts";
import { readiness } from "../http/readiness.ts";
import { landing } from "../pages/landing.ts";
import { prefersPage } from "../pages/respond.ts";
import { type CheckOrigin, hostCheck } from "../auth/doors/origin.ts";
import { newReference } from "../log/reference.ts";
import { observedRoutes } from "./observed_routes.ts";
import { requestLog } from "./request_log.ts";
import { probe } from "../store/probe.ts";
import { EXPOSED_HEADERS } from "../http/cors.ts";
import type { McpEndpoint } from "../mcp/endpoint.ts";
import type { Permissions } from "../auth/rules/permissions.ts";
import { scopesInWords } from "../pages/scope_words.ts";
import type { Catalogue } from "../mcp/catalogue/catalogue.ts";
import type { Database } from "../store/database.ts";
import type { FetchDocument } from "../store/documents.ts";
import type { LedgerStore } from "../store/ledger.ts";
import type { SessionStore } from "../store/sessions.ts";
import type { Provider } from "../auth/provider/provider.ts";
import { callbackAt } from "../auth/provider/sign_in_providers.ts";
import { fetchDocument as fetchPublic } from "../auth/clients/fetch_document.ts";
import {
  type WatchedProvider,
  watchProvider,
} from "../auth/provider/reachability.ts";
import { isError } from "../thrown.ts";
import { createProvider } from "../auth/provider/create_provider.ts";

/** The parts of the routes. */
interface AppOptions {
  config: Config;
  log: Log;
  database: Database;
  sessions: SessionStore;
  /** The latest calls of connections, if they are kept. */
  ledger?: LedgerStore;
  /** Public address, without a trailing slash. */
  baseUrl: string;
  /** The operator and the addresses of its pages. */
  about: About;
  catalogue: Catalogue;
  scopes: Scopes;
  permissions?: Permissions;
  provider?: Provider;
  fetchDocument?: FetchDocument;
  checkOrigin: CheckOrigin;
  mcp: McpEndpoint;
  /** The pages that show views, in development. */
  viewHost?: Hono;
  addRoutes?(app: Hono): void;
  /** Prints `WWW-Authenticate` for a refusal in a route of the author's. */
  challenge(refusal: ChallengeError): string;
  /** True if the server is about to end. */
  isStopping(): boolean;
}

/** The routes, and the part of the sign-in that tools use. */
export interface App extends Pick<SignIn, "upstream"> {
  routes: Hono<Passing>;
  /** Ends background work, after the last request. */
  close(): Promise<void>;
}

/**
 * The paths of health checks, which may be sent to any host name: their answers
 * reveal nothing.
 */
const PROBES: ReadonlySet<string> = new Set(["/health", "/ready"]);

const ALLOWED_METHODS = "POST, DELETE, OPTIONS";

/** Builds every route except the path of a call. */
export function createApp(options: AppOptions): App {
  const { config, baseUrl, permissions, checkOrigin, mcp } = options;
  // Pages are for everyone, so they show only things that everyone may use.
  const catalogue = options.catalogue.within(permissions && []);
  const watched: (ListedProvider & WatchedProvider)[] = [];
  const dev = devProviderOf(options);
  const signedIn = signInOf(options, (listed) => {
    const { config, key } = listed;
    const provider = options.provider ??
      (config.provider === "dev"
        ? dev!.provider
        : createProvider(config, { wanted: permissions?.wantedAt(listed.id) }));
    const oauthLog = options.log.logger("oauth");
    const setting = providerSetting(config, renameFor(key));
    const watching = watchProvider(provider, {
      key,
      onFault: (error) =>
        oauthLog.warning(
          key === undefined
            ? "No one can sign in: the provider does not answer well"
            : "No one can sign in at one provider: it does not answer well",
          { setting, provider: key, error },
        ),
    });
    watched.push({ ...listed, ...watching });
    return watching.provider;
  });
  const { about } = options;
  const showLanding = landing({ config, about, baseUrl, catalogue });
  const app = new Hono<Passing>();
  const log = options.log.logger("http");

  app.use(cors({
    origin: "*",
    allowMethods: ["GET", "POST", "DELETE", "OPTIONS"],
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: 86_400,
  }));

  app.use((c, next) => {
    const peer = c.env?.remoteAddr?.hostname;
    const { headers } = c.req.raw;
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
      // Hono passes only errors on, and a route may throw anything.
      throw isError(thrown)
        ? thrown
        : new Error("A route threw what is no error", { cause: thrown });
    }
  });

  const checkHost = hostCheck(config, { log, clock: options.database.clock });
  app.use((c, next) => {
    if (!PROBES.has(c.req.path)) checkHost(c.req.raw);
    return next();
  });

  app.post("/mcp", (c) => mcp.post(c.req.raw, c.env));
  app.delete("/mcp", (c) => mcp.delete(c.req.raw, c.env));
  app.get("/mcp", (c, next) => {
    checkOrigin(c.req.raw);
    if (!prefersPage(c)) return next();
    c.header("allow", ALLOWED_METHODS);
    return showLanding(c, {
      status: 405,
      notice: "MCP clients talk to this address; a browser can only read on.",
    });
  });
  app.all("/mcp", () => {
    throw new HttpError(405, "This is an MCP endpoint: clients POST to it", {
      allow: ALLOWED_METHODS,
    });
  });

  app.route("/", signedIn.app);
  if (dev) app.route("/", dev.routes);
  app.get("/oauth/callback", callback({ config, about, baseUrl }));

  app.get(
    "/health",
    (c) => c.json({ status: "ok", timestamp: options.database.clock() }),
  );
  app.get(
    "/ready",
    readiness({
      probeDatabase: probe(options.database),
      providers: () =>
        watched.map(({ key, reachability }) => ({ key, is: reachability() })),
      isStopping: options.isStopping,
    }),
  );
  app.get("/", (c) => showLanding(c));
  app.route("/", discoveryRoutes({ config, about, baseUrl, catalogue }));

  if (options.viewHost) app.route("/", options.viewHost);
  if (options.addRoutes) addOwnRoutes(app, options.addRoutes);
  app.notFound((c) => {
    const known = methodsAt(app, c.req.path);
    if (known.length === 0) {
      throw new HttpError(404, "There is nothing at this address");
    }
    const allow = [...known, "OPTIONS"].join(", ");
    throw new HttpError(405, `The method must be one of ${allow} here`, {
      allow,
    });
  });
  app.onError(errorAnswer({
    log,
    page: { serverTitle: config.title, about, baseUrl },
    challenge: options.challenge,
  }));

  const { upstream, close } = signedIn;
  return { routes: app, upstream, close: async () => await close?.() };
}

/** The methods that have a route at a path, those with parameters too. */
function methodsAt(app: Hono<Passing>, path: string): string[] {
  const methods = new Set(app.routes.map(({ method }) => method));
  for (const method of ["ALL", "OPTIONS"]) methods.delete(method);
  return [...methods].sort().filter((method) => {
    const [handlers] = app.router.match(method, path);
    // Middleware is for all methods, and for paths that are nowhere.
    return handlers.some(([[, route]]) => route.method === method);
  });
}

/**
 * Adds the author's routes last, so that none takes the place of the server's.
 */
function addOwnRoutes(
  app: Hono<Passing>,
  addRoutes: (own: Hono) => void,
): void {
  const own = new Hono();
  addRoutes(own);
  const taken = new Set(
    app.routes.filter(({ path }) => path !== "/*")
      .map(({ method, path }) => method + path),
  );
  for (const { method, path } of own.routes) {
    if (!taken.has(method + path) && !/^\/mcp\/?$/.test(path)) continue;
    throw new Error(`routes: ${method} ${path} is the server's own`);
  }
  app.route("/", own);
}

function signInOf(
  {
    config,
    log,
    database,
    sessions,
    ledger,
    baseUrl,
    about,
    fetchDocument = fetchPublic,
    catalogue: { scopes: uses },
    scopes,
    permissions,
  }: AppOptions,
  provider: (listed: ListedProvider) => Provider,
): SignIn {
  return signIn({
    auth: config.auth,
    log: log.logger("oauth"),
    database,
    sessions,
    ledger,
    baseUrl,
    serverTitle: config.title,
    about,
    scopes,
    permissions,
    inWords: (asked) => scopesInWords(asked, { uses, words: scopes.words }),
    provider,
    fetchDocument,
  });
}

/** Makes the development provider, if people sign in there. */
function devProviderOf(
  { config, database, baseUrl }: AppOptions,
): DevProvider | undefined {
  const { auth, deployed, title: serverTitle } = config;
  const dev = auth.oauth?.providers.find(({ config }) =>
    config.provider === "dev"
  );
  return dev && devProvider({
    database,
    baseUrl,
    redirectUri: callbackAt(baseUrl, dev.key),
    deployed,
    serverTitle,
  });
}
