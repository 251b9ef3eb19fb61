/**
 * The process: its environment, its database, its socket and its end. The
 * only file that touches `Deno` at run time.
 *
 * @module
 */
import {
  catalogueOf,
  type Connection,
  createServer,
  type Server,
} from "./src/server.ts";
import { type Config, parseConfig } from "./src/config.ts";
import { ConfigError, type Environment, VARIABLES } from "./src/settings.ts";
import { configureLog, flushLog, logger } from "./src/log.ts";
import { isLoopback } from "./src/loopback.ts";
import { CatalogueError } from "./src/mcp/catalogue.ts";
import { accessOf, connections } from "./src/pages/connect.ts";
import { prompts } from "./src/prompts/mod.ts";
import { resources } from "./src/resources/mod.ts";
import { whileLocked } from "./src/store/kv.ts";
import { tools } from "./src/tools/mod.ts";

const DRAIN_MILLISECONDS = 10_000;

const startedMilliseconds = Date.now();
const isTerminal = Deno.stdout.isTerminal();
const log = logger("main");

/** A start that failed for a reason that the person at the terminal can mend. */
class StartError extends Error {
  override name = "StartError";
}

/** What may be read without anybody being asked for permission. */
function readEnvironment(): Environment {
  const granted = VARIABLES.filter((variable) =>
    Deno.permissions.querySync({ name: "env", variable }).state === "granted"
  );
  return Object.fromEntries(
    granted.map((variable) => [variable, Deno.env.get(variable)]),
  );
}

async function start(config: Config): Promise<void> {
  const opening = openKv(config);
  // Meanwhile: a thread of its own opens the database.
  const catalogue = catalogueOf(config, {
    tools: tools(runtimeOf(config)),
    resources,
    prompts,
  });
  const kv = await opening;
  const server = listen(
    config,
    (request, info) => app.fetch(request, new Peer(info)),
  );
  const baseUrl = config.baseUrl ?? localOrigin(server.addr);
  const app = createServer({
    config,
    kv,
    baseUrl,
    catalogue,
  });
  // Under --watch an exit is the wait for a change: there a signal must end
  // the process by itself.
  if (!Deno.args.includes("--no-drain")) stopOnSignal(app, server, kv);
  warnOfOpenDoors(config);
  announce(config, baseUrl);
}

/** Where a request came from, looked up by the few routes that ask. */
class Peer implements Connection {
  constructor(private readonly info: Deno.ServeHandlerInfo<Deno.NetAddr>) {}

  get address(): string {
    return this.info.remoteAddr.hostname;
  }
}

function runtimeOf({ deployment, region }: Config) {
  return {
    name: "Deno",
    version: Deno.version.deno,
    deployment,
    region,
    uptimeSeconds: () => Math.floor((Date.now() - startedMilliseconds) / 1000),
    memory: memoryReader(),
  };
}

/** Memory in use, at most a second old: to read it costs as much as a call. */
function memoryReader(): () => Deno.MemoryUsage {
  let memory: Deno.MemoryUsage;
  let readAtMilliseconds = -Infinity;
  return () => {
    if (Date.now() - readAtMilliseconds >= 1000) {
      memory = Deno.memoryUsage();
      readAtMilliseconds = Date.now();
    }
    return memory;
  };
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
    const { memoryKv } = await import("./src/store/memory_kv.ts");
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
  for (const name of ["read", "write"] as const) {
    const { state } = await Deno.permissions.query({ name, path });
    if (state !== "granted") {
      throw new StartError(
        `KV_PATH: ${path} may not be opened. Use a path such as ` +
          `data/tools.db, or run with --allow-read and --allow-write for it.`,
      );
    }
  }
  const directory = path.replace(/[^/\\]*$/, "");
  if (directory) await Deno.mkdir(directory, { recursive: true });
}

/** @throws {StartError} */
function listen(
  { host, port }: Config,
  handler: Deno.ServeHandler<Deno.NetAddr>,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname: host, port, onListen() {} }, handler);
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

function warnOfOpenDoors({ host, baseUrl, auth, deployed }: Config): void {
  if (!deployed && isLoopback({ hostname: host })) return;
  if (auth.strategy === "none") {
    log.warning(
      "Everybody who reaches this server may use it: set AUTH_STRATEGY",
    );
  }
  if (baseUrl === undefined) {
    log.warning("Pages cannot tell how to connect: set BASE_URL");
  }
}

/** Tells where the server is and how to connect a client. */
function announce({ title, auth }: Config, baseUrl: string): void {
  const url = `${baseUrl}/mcp`;
  const commands = connections({ title, baseUrl, access: accessOf(auth) })
    .filter(({ line }) => line?.includes(" "));
  if (!isTerminal) {
    const connect = commands.map(({ line }) => line);
    return log.info("Listening", { url, connect });
  }
  console.log(`\n${title} listens on ${url}\n`);
  for (const { client, line } of commands) {
    console.log(`  ${client.padEnd(12)} ${line}`);
  }
  console.log(`  ${"Any other".padEnd(12)} open ${baseUrl} in a browser\n`);
}

/** A signal that comes again this soon is the same one, passed on. */
const SAME_SIGNAL_MILLISECONDS = 500;

/**
 * The first signal drains; a second one ends the process at once. A terminal
 * sends its signal to everybody, and `deno task` passes its own on.
 */
function stopOnSignal(app: Server, server: Deno.HttpServer, kv: Deno.Kv): void {
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT"]
    : ["SIGINT", "SIGTERM"];
  let stoppingSinceMilliseconds: number | undefined;
  const onSignal = async () => {
    const time = Date.now();
    if (stoppingSinceMilliseconds !== undefined) {
      if (time - stoppingSinceMilliseconds < SAME_SIGNAL_MILLISECONDS) return;
      await flushLog();
      Deno.exit(1);
    }
    stoppingSinceMilliseconds = time;
    log.info("Stopping");
    app.stop();
    await Promise.race([
      server.shutdown().then(() => app.close()),
      new Promise((resolve) => setTimeout(resolve, DRAIN_MILLISECONDS)),
    ]);
    kv.close();
    await flushLog();
    Deno.exit(0);
  };
  for (const signal of signals) Deno.addSignalListener(signal, onSignal);
}

/** Where nobody sees a process end, the requests are told instead. */
function serveMisconfigured({ message }: Error): void {
  const body = { error: "server_misconfigured" };
  const headers = { "access-control-allow-origin": "*" };
  Deno.serve(
    { onListen() {} },
    () => Response.json(body, { status: 500, headers }),
  );
  log.error("Misconfigured", { details: message });
}

/** What a tool left behind must not take everybody's server down. */
function surviveStrayRejections(): void {
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    log.error("Unhandled rejection", { error: event.reason });
  });
}

const environment = readEnvironment();
configureLog({ level: "info", terminal: isTerminal });
try {
  const config = parseConfig(environment);
  configureLog({ level: config.logLevel, terminal: isTerminal });
  await start(config);
  surviveStrayRejections();
} catch (error) {
  await flushLog();
  const isMistake = error instanceof ConfigError ||
    error instanceof CatalogueError;
  if (!isMistake && !(error instanceof StartError)) throw error;
  if (isMistake && environment.DENO_DEPLOYMENT_ID) {
    serveMisconfigured(error);
  } else {
    console.error(error.message);
    Deno.exit(1);
  }
}
