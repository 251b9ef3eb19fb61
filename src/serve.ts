/**
 * The process: its environment, its database, its socket and its shutdown.
 *
 * @module
 */
import { StartError } from "./core/settings/complaint.ts";
import { isLocal } from "./core/settings/config.ts";
import type { Log, Logger } from "./core/log/log.ts";
import type { Members } from "./authoring/options.ts";
import type { Services } from "./authoring/service.ts";
import type { SettingSchemas } from "./authoring/setting.ts";
import { ServerInstance } from "./core/server/server_instance.ts";
import { Plan } from "./core/server/plan.ts";
import {
  type CreateServerOptions,
  PARTS,
  type Server,
  SERVER_OPTIONS,
  type ServerOptions,
} from "./core/server/server_options.ts";
import { isCollected, startTelemetry } from "./core/telemetry/current.ts";
import { processEnvironment } from "./core/process/environment.ts";
import { FEATURES } from "./features.ts";
import { announce, warnOfSettings } from "./core/process/announcement.ts";
import { openKv, refuseDefaultDatabase } from "./core/process/kv.ts";
import { type Handler, Socket } from "./core/process/socket.ts";
import { stopOnSignal } from "./core/process/signals.ts";

/** The options of {@linkcode serve}: a server's, and some for tests. */
export interface ServeOptions<
  S extends SettingSchemas = SettingSchemas,
  V extends Services = Services,
> extends
  ServerOptions<S, V>,
  Partial<
    Pick<CreateServerOptions, "kv" | "provider" | "fetchDocument" | "clock">
  > {}

/** The options of {@linkcode serve}. */
export const SERVE_OPTIONS = {
  ...SERVER_OPTIONS,
  ...PARTS,
} satisfies Members<ServeOptions>;

let current: Server | undefined;

/**
 * Resumes durable work that is due. Call it from `Deno.cron` on Deno Deploy,
 * where a process sleeps between requests; elsewhere a timer does this.
 *
 * @example
 * ```ts
 * import { serve, wake } from "@tool-server/tool-server";
 *
 * Deno.cron?.("work", "* * * * *", wake);
 *
 * await serve({ name: "greeter", version: "1.0.0" });
 * ```
 */
export async function wake(): Promise<void> {
  await current?.wake();
}

/**
 * The delay before `/ready` is requested, so that the first clients go first.
 */
const CHECK_MILLISECONDS = 1000;

/**
 * True if calls may finish before the process ends. False under --watch, where
 * Deno waits for a change instead of exiting: there a signal has to end the
 * process.
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
  const { environment, ...rest } = processEnvironment();
  const { readEnvironmentFile } = await import(
    "./core/process/environment_file.ts"
  );
  const file = readEnvironmentFile();
  await startTelemetry();
  let log: Log | undefined;
  try {
    const reading = { ...rest, ...file };
    const checked: [string, typeof SERVE_OPTIONS] = ["serve", SERVE_OPTIONS];
    const plan = new Plan(FEATURES, options, environment, reading, checked);
    if (options.kv === undefined && drains()) {
      refuseDefaultDatabase(plan.config, {
        systemdPid: environment.SYSTEMD_EXEC_PID,
        image: environment.DENO_USE_CGROUPS,
        terminal,
      });
    }
    log = plan.log;
    if (isCollected()) {
      const collecting = await import("./core/process/collecting.ts");
      const main = log.logger("main");
      collecting.checkTelemetrySettings(plan.config, environment, main);
    }
    await start(plan, options);
    logStrayErrors(plan.log.logger("main"));
  } catch (error) {
    await log?.flush();
    const { failStart } = await import("./core/process/failed_start.ts");
    failStart(error, environment);
  }
}

async function start(plan: Plan, options: ServeOptions): Promise<void> {
  const { config } = plan;
  const log = plan.log.logger("main");
  const opening = options.kv ?? openKv(config, log);
  // Compiles the catalogue while another thread opens the database.
  void plan.catalogue;
  const kv = await opening;
  const socket = await listen(
    plan,
    (request, info) => server.fetch(request, info),
  );
  const origin = localOrigin(socket.addr);
  const isWatched = Deno.args.includes("--views");
  const isDevelopment = isWatched && isLocal(config);
  const given = { ...options, kv, origin, isDevelopment };
  const server = new ServerInstance(plan, given);
  try {
    await server.start();
  } catch (error) {
    // Under --watch, Deno ends no process: it would continue to answer
    // requests.
    socket.close();
    throw error;
  }
  current = server;
  if (drains()) {
    stopOnSignal({
      server,
      socket,
      kv,
      log: plan.log,
      deployed: config.deployed,
    });
  }
  warnOfSettings(config, log);
  const { catalogue, features } = plan;
  const baseUrl = config.baseUrl ?? origin;
  const site = { config, baseUrl, catalogue, isDevelopment };
  const told = await Promise.all(
    features.map(({ announcement }) => announcement?.(site)),
  );
  announce(config, {
    log,
    baseUrl,
    guides: told.flatMap((it) => it?.guides ?? []),
    pages: Object.assign({}, ...told.map((it) => it?.pages)),
    isDevelopment: isWatched,
  });
  if (config.auth.oauth && !config.deployed) askReadiness(server, origin);
}

/** Requests `/ready` once, which logs a warning if no one can sign in. */
function askReadiness(server: Server, origin: string): void {
  const checking = setTimeout(async () => {
    try {
      await server.fetch(new Request(`${origin}/ready`));
    } catch {
      // The log has the reason.
    }
  }, CHECK_MILLISECONDS);
  Deno.unrefTimer(checking);
}

/** @throws {StartError} */
async function listen(
  { config, log }: Pick<Plan, "config" | "log">,
  handler: Handler,
): Promise<Socket> {
  const { host, port, reusePort } = config;
  const main = log.logger("main");
  const address = { host, port, reusePort };
  try {
    // Deno would end the process and name no setting.
    if (reusePort && !("listenDatagram" in Deno)) throw new TypeError();
    return new Socket({ ...address, log: main }, handler, {
      async onLost(error) {
        main.error("Connections cannot be accepted any more", { error });
        await log.flush();
        Deno.exit(1);
      },
    });
  } catch (error) {
    const { addressComplaint } = await import(
      "./core/process/failed_start.ts"
    );
    for (const note of config.notes) main.warning(note);
    throw new StartError(addressComplaint(error, address));
  }
}

/** Returns the origin by which this machine itself reaches the server. */
function localOrigin({ hostname, port }: Deno.NetAddr): string {
  const isEverywhere = hostname === "0.0.0.0" || hostname === "::";
  const host = isEverywhere ? "localhost" : hostname;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Logs uncaught errors: those of a tool must not end the server. */
function logStrayErrors(log: Logger): void {
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    logStray(log, "Unhandled rejection", event.reason);
  });
  addEventListener("error", (event) => {
    event.preventDefault();
    logStray(log, "Unhandled exception", event.error);
  });
}

/** Logs an error without the keys that tools were given. */
async function logStray(log: Logger, message: string, thrown: unknown) {
  const { withoutRecentKeys } = await import(
    "./core/mcp/exchange/given_keys.ts"
  );
  log.error(message, { error: withoutRecentKeys(thrown) });
}
