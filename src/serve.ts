/**
 * The process: its environment, its database, its socket and its end. Besides
 * the command line tools the only file that touches `Deno`.
 *
 * @module
 */
import { ConfigError, VARIABLES } from "./config/environment.ts";
import { isOpen } from "./config/auth.ts";
import { type Config, isLocal } from "./config/config.ts";
import { secretVariables } from "./oauth/configured_client.ts";
import { ServiceError } from "./engine/lifecycle.ts";
import { configureLog, flushLog, logger } from "./log.ts";
import { needsOf } from "./authoring/needs.ts";
import type { Services } from "./authoring/service.ts";
import type { SettingSchemas } from "./authoring/setting.ts";
import { isLoopback } from "./loopback.ts";
import { clientGuides, entryOf } from "./pages/client_guides.ts";
import { CatalogueError } from "./protocol/compiled_definitions.ts";
import { assemble } from "./assemble.ts";
import { needing, type Plan, planServer } from "./plan.ts";
import type { CreateServerOptions, ServerOptions } from "./server_options.ts";
import { isCollected, startTelemetry, telemetry } from "./telemetry.ts";
import { whileLocked } from "./store/locked.ts";
import { isService, type Origin } from "./process/service.ts";
import { type Handler, Socket } from "./process/socket.ts";
import { stopOnSignal } from "./process/signals.ts";

/** What {@linkcode serve} takes: {@linkcode ServerOptions}, and for tests the rest. */
export interface ServeOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends
  ServerOptions<S, V>,
  Partial<
    Pick<CreateServerOptions, "kv" | "provider" | "fetchDocument" | "clock">
  > {}

/** A start that failed for a reason that the person at the terminal can fix. */
class StartError extends Error {
  override name = "StartError";
}

const log = logger("main");

/**
 * Not under --watch: an exit is the wait for a change there, and a signal must
 * end the process by itself.
 */
function drains(): boolean {
  return !Deno.args.includes("--no-drain");
}

/**
 * Runs a server as this process: reads the environment, opens the database,
 * listens, and ends on SIGINT and SIGTERM. A mistake in the settings or the
 * definitions ends the process with all complaints at once.
 *
 * @example A whole server
 * ```ts
 * import { serve, tool } from "@tool-server/tool-server";
 *
 * await serve({
 *   name: "greeter",
 *   version: "1.0.0",
 *   tools: [tool({ name: "greet", run: () => "Hello!" })],
 * });
 * ```
 */
export async function serve<
  S extends SettingSchemas = Record<never, never>,
  V extends Services = Record<never, never>,
>(options: ServeOptions<S, V>): Promise<void> {
  const terminal = Deno.stdout.isTerminal();
  const { environment, denied } = readEnvironment(options);
  // Where console calls are captured, each is to be an event of its own.
  const captured = isCollected() ||
    environment.DENO_DEPLOYMENT_ID !== undefined;
  await startTelemetry();
  configureLog({ level: "info", terminal, captured });
  try {
    readClients(environment);
    const plan = planServer(options, environment, denied);
    checkDatabase(plan.config, options, {
      systemdPid: environment.SYSTEMD_EXEC_PID,
      image: environment.DENO_USE_CGROUPS,
      terminal,
    });
    configureLog({ level: plan.config.logLevel, terminal, captured });
    await start(plan, options);
    surviveStrayRejections();
  } catch (error) {
    flushLog();
    const isMistake = error instanceof ConfigError ||
      error instanceof CatalogueError || error instanceof ServiceError;
    if (!isMistake && !(error instanceof StartError)) throw error;
    if (isMistake && environment.DENO_DEPLOYMENT_ID) {
      serveMisconfigured(error);
    } else {
      console.error(error.message);
      Deno.exit(1);
    }
  }
}

/** What may be read without a prompt for permission, and what may not. */
function readEnvironment(
  options: ServerOptions,
): {
  environment: Record<string, string | undefined>;
  denied: ReadonlySet<string>;
} {
  const declared = needsOf(needing(options)).settings.keys();
  const environment: Record<string, string | undefined> = {};
  const denied = new Set<string>();
  for (const variable of [...VARIABLES, ...declared]) {
    const { state } = Deno.permissions.querySync({ name: "env", variable });
    if (state === "granted") environment[variable] = Deno.env.get(variable);
    else denied.add(variable);
  }
  return { environment, denied };
}

/**
 * `OAUTH_CLIENTS` may name a file, and what it says may name variables; both
 * are read here.
 *
 * @throws {StartError}
 */
function readClients(environment: Record<string, string | undefined>): void {
  let text = environment.OAUTH_CLIENTS?.trim();
  if (!text) return;
  if (!text.startsWith("[")) {
    const path = text;
    const { state } = Deno.permissions.querySync({ name: "read", path });
    try {
      // Without this Deno would ask on the terminal.
      if (state !== "granted") throw new Error("there is no --allow-read");
      text = Deno.readTextFileSync(path).trim();
    } catch (error) {
      const { message } = error as Error;
      throw new StartError(
        `OAUTH_CLIENTS: ${path} cannot be read: ${message}. Use a path such ` +
          "as data/clients.json, or a JSON array.",
      );
    }
    environment.OAUTH_CLIENTS = text;
  }
  for (const variable of secretVariables(text)) {
    const { state } = Deno.permissions.querySync({ name: "env", variable });
    if (state === "granted") environment[variable] = Deno.env.get(variable);
  }
}

/**
 * Deno's default database follows the folder: the next release of a service
 * would begin with an empty one.
 *
 * @throws {StartError}
 */
function checkDatabase(
  { kvPath, deployed }: Config,
  { kv }: ServeOptions,
  origin: Omit<Origin, "pid" | "ppid">,
): void {
  // Where there is no Deno KV, nothing is kept anyway, and a warning says so.
  const isKept = typeof Deno.openKv === "function" && drains();
  if (kv !== undefined || kvPath !== undefined || deployed || !isKept) return;
  if (!isService({ pid: Deno.pid, ppid: Deno.ppid, ...origin })) return;
  throw new StartError(
    "KV_PATH: a service must say where its database is, for Deno's default " +
      "one belongs to this folder and is lost with it. Use a file outside of " +
      "the release, such as /var/lib/tool-server/tools.db.",
  );
}

async function start(plan: Plan, options: ServeOptions): Promise<void> {
  const { config } = plan;
  const opening = options.kv ?? openKv(config);
  // Compiled meanwhile: a thread of its own opens the database.
  void plan.catalogue;
  const kv = await opening;
  const socket = listen(
    config,
    (request, info) => server.fetch(request, info),
  );
  const origin = localOrigin(socket.addr);
  const showsViews = Deno.args.includes("--views") && isLocal(config);
  const server = assemble(plan, { ...options, kv, origin, showsViews });
  await server.start();
  if (drains()) {
    stopOnSignal({ server, socket, kv, deployed: config.deployed });
  }
  warn(config);
  warnOfUnread(config);
  const hasViews = plan.catalogue.views.size > 0;
  announce(config, config.baseUrl ?? origin, showsViews && hasViews);
}

/** @throws {StartError} */
async function openKv({ kvPath }: Config): Promise<Deno.Kv> {
  // Without --unstable-kv there is none, whatever the types say.
  if (typeof Deno.openKv !== "function") {
    if (kvPath !== undefined && kvPath !== ":memory:") {
      throw new StartError(
        "KV_PATH: a database needs Deno KV. Run with --unstable-kv.",
      );
    }
    log.warning(
      "Everything is kept in memory and lost at the end: run with " +
        "--unstable-kv to keep sessions and sign-ins",
    );
    const { memoryKv } = await import("./store/memory_kv.ts");
    return memoryKv();
  }
  try {
    if (kvPath && !kvPath.startsWith(":") && !URL.canParse(kvPath)) {
      await prepareFile(kvPath);
    }
    // Another process may be opening the same file.
    return await whileLocked(() => Deno.openKv(kvPath));
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { message } = error as Error;
    throw new StartError(
      `KV_PATH: ${kvPath ?? "the default database"} cannot be opened: ` +
        message,
    );
  }
}

/** @throws {StartError} where Deno would ask for permission */
async function prepareFile(path: string): Promise<void> {
  const directory = path.replace(/[^/\\]*$/, "");
  for (const name of ["read", "write"] as const) {
    const { state } = await Deno.permissions.query({ name, path });
    if (state !== "granted") {
      throw new StartError(
        `KV_PATH: ${path} may not be opened. Use data/tools.db, or add ` +
          `--allow-read=${directory || "."} --allow-write=${
            directory || "."
          } to deno run, or "${directory || "."}" to read and write of ` +
          `permissions.default in deno.json.`,
      );
    }
  }
  if (directory) await Deno.mkdir(directory, { recursive: true });
}

/** @throws {StartError} */
function listen(
  { host, port, reusePort }: Config,
  handler: Handler,
): Socket {
  try {
    return new Socket({ host, port, reusePort }, handler, (error) => {
      log.error("Connections cannot be accepted any more", { error });
      flushLog();
      Deno.exit(1);
    });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new StartError(
        `PORT: ${port} on ${host} is in use. Stop the other program, or use ` +
          `another port: PORT=${port + 1}.`,
      );
    }
    const { message } = error as Error;
    throw new StartError(`HOST, PORT: cannot listen on ${host}: ${message}`);
  }
}

/** How this machine itself reaches the server. */
function localOrigin({ hostname, port }: Deno.NetAddr): string {
  const isEverywhere = hostname === "0.0.0.0" || hostname === "::";
  const host = isEverywhere ? "localhost" : hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Says what a service may not want, though it works. */
function warn({ host, baseUrl, kvPath, auth, deployed }: Config): void {
  const isPublic = baseUrl !== undefined && !isLoopback(new URL(baseUrl));
  if (isPublic && kvPath === undefined && !deployed) {
    log.warning(
      "The database is Deno's default one, which belongs to this folder: set " +
        "KV_PATH to keep sign-ins when the service moves to another",
    );
  }
  if (telemetry?.readsBaggage && !deployed) {
    log.warning(
      "A request with a malformed baggage header is never answered, which is " +
        "a bug of Deno: set OTEL_PROPAGATORS=tracecontext",
    );
  }
  if (!deployed && isLoopback({ hostname: host })) return;
  if (isOpen(auth)) {
    log.warning(
      "Everyone who reaches this server may use it: set AUTH_STRATEGY",
    );
  }
  if (baseUrl === undefined) {
    log.warning("Pages cannot tell how to connect: set BASE_URL");
  }
}

function warnOfUnread({ unread }: Config): void {
  if (unread.length === 0) return;
  log.warning(
    `${unread.join(", ")} may not be read and have their defaults: run ` +
      "deno task settings, or add them to --allow-env",
  );
}

/** Tells where the server is and how to connect a client. */
function announce(
  { title, auth, kvPath }: Config,
  baseUrl: string,
  showsViews: boolean,
): void {
  const url = `${baseUrl}/mcp`;
  const commands = clientGuides({ title, baseUrl, entry: entryOf(auth) })
    .filter(({ line }) => line?.includes(" "));
  if (!Deno.stdout.isTerminal()) {
    const connect = commands.map(({ line }) => line);
    const database = kvPath ?? "Deno's default for this folder";
    const views = showsViews ? `${baseUrl}/views` : undefined;
    return log.info("Listening", { url, connect, database, views });
  }
  console.log(`\n${title} listens on ${url}\n`);
  for (const { client, line } of commands) {
    console.log(`  ${client.padEnd(12)} ${line}`);
  }
  console.log(`  ${"Any other".padEnd(12)} open ${baseUrl} in a browser\n`);
  if (showsViews) console.log(`  ${"Views".padEnd(12)} ${baseUrl}/views\n`);
}

/** Where no one sees a process end, the requests are told instead. */
function serveMisconfigured({ message }: Error): void {
  const body = { error: "server_misconfigured" };
  const headers = { "access-control-allow-origin": "*" };
  Deno.serve(
    { onListen() {} },
    () => Response.json(body, { status: 500, headers }),
  );
  log.error("Misconfigured", { details: message });
}

/** What a tool left behind must not take everyone's server down. */
function surviveStrayRejections(): void {
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", { error: event.reason });
  });
}
