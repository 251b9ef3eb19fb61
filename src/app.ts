/**
 * Every route, in the order a client walks them.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { cors } from "@hono/hono/cors";
import type { About } from "./about.ts";
import type { Address } from "./address.ts";
import { basePathOf } from "./base_path.ts";
import { clientAddress } from "./http/client_address.ts";
import type { Config } from "./config/config.ts";
import { randomId } from "./crypto.ts";
import { ChallengeError, HttpError, OAuthError } from "./errors.ts";
import { signIn } from "./authorization_server/sign_in.ts";
import type { SignIn } from "./authorization_server/sign_in_endpoints.ts";
import { callback } from "./authorization_server/client_callback.ts";
import { type DevProvider, devProvider } from "./upstream/dev/dev_provider.ts";
import { discoveryRoutes } from "./discovery/routes.ts";
import { errorPage } from "./pages/error_response.ts";
import type { Gate } from "./gates/gate.ts";
import { landing } from "./pages/landing.ts";
import { prefersPage } from "./pages/respond.ts";
import type { CheckOrigin } from "./gates/origin.ts";
import { type Logger, logger } from "./log.ts";
import { EXPOSED_HEADERS } from "./http/cors.ts";
import type { McpEndpoint } from "./engine/endpoint.ts";
import { scopesInWords } from "./pages/scope_words.ts";
import type { ConnectionInfo } from "./http/connection_info.ts";
import type { Catalogue } from "./protocol/catalogue.ts";
import type { Database } from "./store/database.ts";
import type { FetchDocument } from "./store/documents.ts";
import type { SessionStore } from "./store/sessions.ts";
import type { Provider } from "./upstream/provider.ts";
import { fetchDocument as fetchPublic } from "./client_documents/fetch_document.ts";
import { createProvider } from "./upstream/create_provider.ts";

/** What the routes are made of. */
export interface AppOptions {
  config: Config;
  database: Database;
  sessions: SessionStore;
  /** Public address, without a trailing slash. */
  baseUrl: string;
  /** Who is behind it. */
  about: About;
  catalogue: Catalogue;
  provider?: Provider;
  fetchDocument?: FetchDocument;
  checkOrigin: CheckOrigin;
  mcp: McpEndpoint;
  /** Adds the author's own routes. */
  addRoutes?(app: Hono): void;
  /** `WWW-Authenticate` for a refusal in a route of the author's. */
  challenge(refusal: ChallengeError): string;
}

/** The routes, and who may call. */
export interface App {
  routes: Hono<Passing>;
  /** Of a strategy whose callers the routes sign in, or others' keys prove. */
  gate?: Gate;
  /** Ends background work, after the last request. */
  close(): Promise<void>;
}

/** What goes with a request. */
interface Passing {
  Bindings: ConnectionInfo;
  Variables: { address?: Address };
}

const ALLOWED_METHODS = "POST, DELETE, OPTIONS";

/** Builds everything but the way of a call. */
export function createApp(options: AppOptions): App {
  const { config, baseUrl, catalogue, checkOrigin, mcp } = options;
  const log = logger("http");
  const dev = devProviderOf(options);
  const { gate, endpoints, close } = signInOf(options, dev);
  const { about } = options;
  const showLanding = landing({ config, about, baseUrl, catalogue });
  const app = new Hono<Passing>();

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
    return next();
  });

  app.post("/mcp", (c) => mcp.post(c.req.raw));
  app.delete("/mcp", (c) => mcp.delete(c.req.raw));
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

  const { protectedResourceMetadata, authorizationServerMetadata } = endpoints;
  app.get("/.well-known/oauth-protected-resource", protectedResourceMetadata);
  app.get("/.well-known/oauth-protected-resource/*", protectedResourceMetadata);
  app.get(
    "/.well-known/oauth-authorization-server",
    authorizationServerMetadata,
  );
  app.get(
    "/.well-known/oauth-authorization-server/mcp",
    authorizationServerMetadata,
  );
  const base = basePathOf(baseUrl);
  if (base !== "") {
    app.get(
      `/.well-known/oauth-authorization-server${base}`,
      authorizationServerMetadata,
    );
  }
  app.post("/register", endpoints.register);
  app.get("/authorize", endpoints.authorize);
  app.post("/authorize", endpoints.consent);
  if (dev) app.route("/", dev.routes);
  app.get("/oauth/provider-callback", endpoints.providerCallback);
  app.get("/oauth/callback", callback({ config, about, baseUrl }));
  app.post("/token", endpoints.token);
  app.post("/revoke", endpoints.revoke);

  app.get("/account", endpoints.account);
  app.post("/account/sign-in", endpoints.accountSignIn);
  app.post("/account/sign-out", endpoints.accountSignOut);
  app.post("/account/end", endpoints.accountEnd);

  app.get(
    "/health",
    (c) => c.json({ status: "ok", timestamp: options.database.clock() }),
  );
  app.get("/", (c) => showLanding(c));
  app.route("/", discoveryRoutes({ config, about, baseUrl, catalogue }));

  if (options.addRoutes) addOwnRoutes(app, options.addRoutes);
  app.notFound((c) => {
    const { method, path } = c.req;
    const known = app.routes.filter((route) =>
      route.path === path && route.method !== "ALL"
    );
    if (known.length === 0) {
      throw new HttpError(404, "There is nothing at this address");
    }
    const allowed = new Set([...known.map(({ method }) => method), "OPTIONS"]);
    const allow = [...allowed].join(", ");
    throw new HttpError(405, `${method} must be one of ${allow} here`, {
      allow,
    });
  });
  app.onError((error, c) => {
    if (error instanceof ChallengeError) return challenge(error, c, options);
    return onError(error, c, options, log);
  });

  return { routes: app, gate, close: async () => await close?.() };
}

/** Own routes come last, so that none stands in front of the server's. */
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

/** A refusal of `authenticate()` in a route of the author's. */
function challenge(
  error: ChallengeError,
  c: Context,
  options: AppOptions,
): Response {
  c.header("WWW-Authenticate", options.challenge(error));
  return c.json(
    {
      error: error.error ?? "unauthorized",
      error_description: error.description,
    },
    error.status,
  );
}

function signInOf(
  {
    config,
    database,
    sessions,
    baseUrl,
    about,
    provider,
    fetchDocument = fetchPublic,
    catalogue: { scopes: scopeWords },
  }: AppOptions,
  dev: DevProvider | undefined,
): SignIn {
  return signIn({
    auth: config.auth,
    database,
    sessions,
    baseUrl,
    serverTitle: config.title,
    about,
    scopesSupported: [...scopeWords.keys()],
    inWords: (scopes) => scopesInWords(scopes, scopeWords),
    provider: (settings) =>
      provider ??
        (settings.provider === "dev"
          ? dev!.provider
          : createProvider(settings)),
    fetchDocument,
  });
}

/** The development provider, if people sign in there. */
function devProviderOf(
  { config, database, baseUrl }: AppOptions,
): DevProvider | undefined {
  const { auth, deployed, title: serverTitle } = config;
  return auth.strategy === "oauth" && auth.provider.provider === "dev"
    ? devProvider({ database, baseUrl, deployed, serverTitle })
    : undefined;
}

/** The only place that turns an exception into an answer outside `/mcp`. */
function onError(
  error: Error,
  c: Context,
  { config: { title }, about, baseUrl }: AppOptions,
  log: Logger,
): Response {
  const reference = randomId(12);
  const isRefusal = error instanceof OAuthError || error instanceof HttpError;
  if (!isRefusal) {
    log.error("Internal error", { reference, path: c.req.path, error });
  }
  if (error instanceof HttpError) {
    for (const [name, value] of Object.entries(error.headers)) {
      c.header(name, value);
    }
  }
  if (prefersPage(c)) {
    if (isRefusal) {
      const { status, message: refusal } = error;
      log.info("Refused", { reference, path: c.req.path, status, refusal });
    }
    return errorPage(c, error, {
      serverTitle: title,
      about,
      baseUrl,
      reference,
    });
  }
  if (error instanceof OAuthError) {
    const { code, description, status } = error;
    // RFC 6749 §5.2: only for who tried that way; browsers would ask people.
    if (code === "invalid_client" && c.req.header("authorization")) {
      c.header("WWW-Authenticate", 'Basic realm="clients"');
    }
    if (status === 503) c.header("Retry-After", "5");
    return c.json(
      { error: code, error_description: description },
      status as 400,
    );
  }
  if (error instanceof HttpError) {
    const { message, status } = error;
    return c.json(
      { error: wordFor(status), error_description: message },
      status as 400,
    );
  }
  return c.json({ error: "server_error", reference }, 500);
}

/** A status in the words of RFC 6749 §4.1.2.1, as far as it has one. */
function wordFor(status: number): string {
  switch (status) {
    case 404:
      return "not_found";
    case 429:
    case 503:
      return "temporarily_unavailable";
    default:
      return status < 500 ? "invalid_request" : "server_error";
  }
}
