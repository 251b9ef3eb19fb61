/**
 * Every route, in the order a client walks them.
 *
 * @module
 */
import { type Context, Hono } from "@hono/hono";
import { cors } from "@hono/hono/cors";
import metadata from "../deno.json" with { type: "json" };
import type { Config } from "./config.ts";
import { randomId } from "./crypto.ts";
import { HttpError, OAuthError } from "./errors.ts";
import { type Access, access } from "./http/access.ts";
import { callback } from "./http/callback.ts";
import { devProviderRoutes } from "./http/dev_provider.ts";
import { errorPage } from "./http/error_page.ts";
import type { Gate } from "./http/gate.ts";
import { landing, prefersPage } from "./http/landing.ts";
import { originCheck } from "./http/origin.ts";
import { withSid } from "./http/sid.ts";
import { type Logger, logger } from "./log.ts";
import { EXPOSED_HEADERS } from "./mcp/answer.ts";
import { type Catalogue, compileCatalogue } from "./mcp/catalogue.ts";
import type { Definitions } from "./mcp/catalogue.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import { ListenerCount } from "./mcp/listen.ts";
import { RunningRequests } from "./mcp/running.ts";
import type { Services } from "./mcp/services.ts";
import { TaskRunner } from "./mcp/task_runner.ts";
import { scopesInWords } from "./pages/scope_words.ts";
import { cancellationStore } from "./store/cancellations.ts";
import { changeStore } from "./store/changes.ts";
import type { FetchDocument } from "./store/documents.ts";
import { replyStore } from "./store/replies.ts";
import { stateStore } from "./store/request_states.ts";
import { sessionStore } from "./store/sessions.ts";
import { taskStore } from "./store/tasks.ts";
import { fetchDocument as fetchPublic } from "./upstream/document.ts";
import { createProvider, type Provider } from "./upstream/provider.ts";

/** What a server is made of. */
export interface AppOptions {
  config: Config;
  /** One handle for the whole process. */
  kv: Deno.Kv;
  /** The public origin, without a trailing slash. */
  baseUrl: string;
  /** What is offered to clients. */
  definitions: Definitions;
  /** Who people sign in with; the one of `config` by default. */
  provider?: Provider;
  /** Fetches what clients publish; from public addresses only by default. */
  fetchDocument?: FetchDocument;
}

/** Where a request came from. */
export interface Connection {
  /** The peer's address, for rate limits. */
  address?: string;
}

/** A server, apart from its socket. */
export interface App {
  fetch(
    request: Request,
    connection?: Connection,
  ): Response | Promise<Response>;
  /** Requests, streams and tasks that are being worked on. */
  readonly running: number;
  /** Tells running calls and streams to end. */
  stop(): void;
  /** Waits for background work, after the last request. */
  close(): Promise<void>;
}

const ALLOWED_METHODS = "POST, DELETE, OPTIONS";

/**
 * Builds a server.
 *
 * @throws {import("./mcp/catalogue.ts").CatalogueError} for definitions that
 * cannot be served
 */
export function createApp(options: AppOptions): App {
  const { config, baseUrl } = options;
  const log = logger("http");
  const catalogue = catalogueOf(config, options.definitions);
  const dev = devProviderOf(options);
  const { gate, endpoints } = accessOf(options, catalogue, dev);
  const services = createServices(options, catalogue, gate);
  const showLanding = landing({ config, baseUrl, catalogue });
  const mcp = withSid(mcpEndpoint(services));
  const app = new Hono<{ Bindings: Connection }>();

  app.use(cors({
    origin: "*",
    allowMethods: ["GET", "POST", "DELETE", "OPTIONS"],
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: 86_400,
  }));

  app.post("/mcp", (c) => mcp.post(c.req.raw));
  app.delete("/mcp", (c) => mcp.delete(c.req.raw));
  app.get("/mcp", (c, next) => {
    services.checkOrigin(c.req.raw.headers);
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
  app.post("/register", endpoints.register);
  app.get("/authorize", endpoints.authorize);
  app.post("/authorize", endpoints.consent);
  if (dev) app.route("/", dev);
  app.get("/oauth/provider-callback", endpoints.providerCallback);
  app.get("/oauth/callback", callback({ config, baseUrl }));
  app.post("/token", endpoints.token);
  app.post("/revoke", endpoints.revoke);

  app.get("/account", endpoints.account);
  app.post("/account/sign-in", endpoints.accountSignIn);
  app.post("/account/sign-out", endpoints.accountSignOut);
  app.post("/account/end", endpoints.accountEnd);

  app.get("/health", (c) => c.json({ status: "ok", timestamp: Date.now() }));
  app.get("/", (c) => showLanding(c));

  app.notFound(() => {
    throw new HttpError(404, "There is nothing at this address");
  });
  app.onError((error, c) => onError(error, c, config, log));

  return {
    // A router and its middleware would cost a call as much as the rest of it.
    fetch: (request, connection = {}) =>
      request.method === "POST" && pathOf(request) === "/mcp"
        ? mcp.post(request)
        : app.fetch(request, connection),
    get running() {
      return services.running.size + services.taskRunner.size;
    },
    stop: () => services.running.stop(),
    async close() {
      await services.taskRunner.stop();
      await services.changes.close();
    },
  };
}

/** The path of a request's URL, without parsing the whole of it. */
function pathOf({ url }: Request): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return query === -1 ? url.slice(start) : url.slice(start, query);
}

function accessOf(
  { config, kv, baseUrl, provider, fetchDocument = fetchPublic }: AppOptions,
  { scopes: scopeWords }: Catalogue,
  dev: Hono | undefined,
): Access {
  return access({
    auth: config.auth,
    kv,
    baseUrl,
    serverTitle: config.title,
    scopesSupported: [...scopeWords.keys()],
    inWords: (scopes) => scopesInWords(scopes, scopeWords),
    provider: (settings) =>
      provider ?? createProvider(
        { ...settings, baseUrl },
        dev && {
          fetch: async (input, init) =>
            await dev.fetch(new Request(input, init)),
        },
      ),
    fetchDocument,
  });
}

/** The routes of the development provider, if people sign in there. */
function devProviderOf(
  { config, kv, baseUrl }: AppOptions,
): Hono | undefined {
  const { auth, deployed, title: serverTitle } = config;
  return auth.strategy === "oauth" && auth.provider.provider === "dev"
    ? devProviderRoutes({ kv, baseUrl, deployed, serverTitle })
    : undefined;
}

function createServices(
  { config, kv }: AppOptions,
  catalogue: Catalogue,
  gate: Gate,
): Services {
  const log = logger("mcp");
  const cancellations = cancellationStore(kv);
  const tasks = taskStore(kv);
  return {
    catalogue,
    gate,
    checkOrigin: originCheck(config),
    log,
    running: new RunningRequests(cancellations, log),
    sessions: sessionStore(kv),
    replies: replyStore(kv),
    cancellations,
    changes: changeStore(
      kv,
      (error) => log.warning("Changes could not be read", { error }),
    ),
    requestStates: stateStore(kv),
    listeners: new ListenerCount(),
    tasks,
    taskRunner: new TaskRunner(tasks, log),
  };
}

function catalogueOf(
  { title, instructions }: Config,
  definitions: Definitions,
): Catalogue {
  const { name, version } = metadata;
  return compileCatalogue(definitions, {
    serverInfo: { name, title, version },
    instructions,
  });
}

/** The only place that turns an exception into an answer outside `/mcp`. */
function onError(
  error: Error,
  c: Context,
  { title }: Config,
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
    return errorPage(c, error, { serverTitle: title, reference });
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
