/**
 * The server apart from its socket. Calls go straight to the endpoint; the
 * rest of it, sign-in and pages, is loaded with the first request for it.
 *
 * @module
 */
import metadata from "../deno.json" with { type: "json" };
import type { App } from "./app.ts";
import type { AuthConfig } from "./auth_config.ts";
import type { Config } from "./config.ts";
import { type Gate, lateGate, openGate } from "./http/gate.ts";
import { originCheck } from "./http/origin.ts";
import { withSid } from "./http/sid.ts";
import { apiKeyGate, bearerGate } from "./http/static_gate.ts";
import { logger } from "./log.ts";
import { type Catalogue, compileCatalogue } from "./mcp/catalogue.ts";
import type { Definitions } from "./mcp/catalogue.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import { ListenerCount } from "./mcp/listen.ts";
import { RunningRequests } from "./mcp/running.ts";
import type { Services } from "./mcp/services.ts";
import { TaskRunner } from "./mcp/task_runner.ts";
import { cancellationStore } from "./store/cancellations.ts";
import { changeStore } from "./store/changes.ts";
import type { FetchDocument } from "./store/documents.ts";
import { replyStore } from "./store/replies.ts";
import { stateStore } from "./store/request_states.ts";
import { sessionStore } from "./store/sessions.ts";
import { taskStore } from "./store/tasks.ts";
import type { Provider } from "./upstream/provider.ts";

/** What a server is made of. */
export interface ServerOptions {
  config: Config;
  /** One handle for the whole process. */
  kv: Deno.Kv;
  /** The public origin, without a trailing slash. */
  baseUrl: string;
  /** What is offered to clients: {@linkcode catalogueOf} its definitions. */
  catalogue: Catalogue;
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
export interface Server {
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

/**
 * What a server offers, checked and printed once.
 *
 * @throws {import("./mcp/catalogue.ts").CatalogueError} for definitions that
 * cannot be served
 */
export function catalogueOf(
  { title, instructions }: Config,
  definitions: Definitions,
): Catalogue {
  const { name, version } = metadata;
  return compileCatalogue(definitions, {
    serverInfo: { name, title, version },
    instructions,
  });
}

/** Builds a server. */
export function createServer(options: ServerOptions): Server {
  const { config } = options;
  const checkOrigin = originCheck(config);
  let loading: Promise<App> | undefined;
  const app = () =>
    loading ??= import("./app.ts").then(({ createApp }) =>
      createApp({ ...options, checkOrigin, mcp })
    );
  const gate = gateOf(config.auth, async () => (await app()).gate!);
  const services = createServices(options, { checkOrigin, gate });
  const mcp = withSid(mcpEndpoint(services));
  return {
    // A router and its middleware would cost a call as much as the rest of it.
    fetch: (request, connection = {}) =>
      request.method === "POST" && pathOf(request) === "/mcp"
        ? mcp.post(request)
        : app().then(({ routes }) => routes.fetch(request, connection)),
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

/** The gate of a strategy; it takes all of `app.ts` to know some callers. */
function gateOf(auth: AuthConfig, load: () => Promise<Gate>): Gate {
  switch (auth.strategy) {
    case "none":
      return openGate;
    case "bearer":
      return bearerGate(auth);
    case "api_key":
      return apiKeyGate(auth);
    case "jwt":
    case "oauth":
      return lateGate(load);
  }
}

function createServices(
  { kv, catalogue }: ServerOptions,
  { checkOrigin, gate }: Pick<Services, "checkOrigin" | "gate">,
): Services {
  const log = logger("mcp");
  const cancellations = cancellationStore(kv);
  const tasks = taskStore(kv);
  return {
    catalogue,
    gate,
    checkOrigin,
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
