/**
 * The servers side by side: the limit, this server and its peers.
 *
 * @module
 */

import type { Revision } from "../packages/client/mod.ts";
import type { Login } from "./login.ts";

/** A server of the benchmark, and the revision and login to use. */
export interface Server {
  /** The name in the table and for `--only`, which takes its beginning. */
  name: string;
  /** The revision that the client asks for. */
  revision: Revision;
  /** The program and its arguments. */
  command: readonly string[];
  /** The same with the catalogue of the benchmark, if that is another. */
  withCatalogue?: readonly string[];
  /** The login, if the server needs one. */
  login?: Login;
  /** Variables besides those that every server is started with. */
  settings?: Readonly<Record<string, string>>;
  /** The same server without the feature whose cost this one shows. */
  without?: Server;
}

/** The revision without sessions. */
export const STATELESS = "2026-07-28" as const;

const root = new URL("..", import.meta.url).pathname;
const deno = [Deno.execPath(), "run", "-A", "--quiet", "--no-prompt"];
const peers = `${root}bench/peers`;
const sdkHandler = [...deno, `${peers}/sdk_handler.mjs`];
const mcpHandler = [...deno, `${peers}/mcp_handler.mjs`];

/** The reference of all measurements. */
export const limit: Server = {
  name: "limit",
  revision: STATELESS,
  command: [...deno, `${root}bench/servers/limit.ts`],
};

/** The least that no change of this server's own code can get below. */
export const floor: Server = {
  ...limit,
  name: "floor",
  command: [...deno, `${root}bench/servers/floor.ts`],
};

/** The servers that know only the call. */
export const bare: readonly Server[] = [limit, floor];

/** This server, in both generations and under every kind of login. */
export const own: readonly Server[] = ownServers(root);

function ownServers(checkout: string): Server[] {
  return (["2025-11-25", STATELESS] as const).flatMap((revision) =>
    (["none", "bearer", "oauth"] as const).map((login) => ({
      name: `this ${revision.slice(0, 4)} ${login}`,
      revision,
      command: [...deno, `${checkout}main.ts`],
      withCatalogue: [...deno, `${checkout}bench/servers/tool_server.ts`],
      login,
    }))
  );
}

/** This server with tools that need their caller's accounts at two services. */
export const withAccounts: Server = accountsServer(root, own);

function accountsServer(checkout: string, own: readonly Server[]): Server {
  const without = own.at(-1)!;
  return {
    ...without,
    name: `${without.name}, two accounts`,
    withCatalogue: [...deno, `${checkout}bench/servers/accounts.ts`],
    without,
  };
}

const WATCHED: Readonly<Record<string, Record<string, string>>> = {
  "log off": { LOG_LEVEL: "off" },
  "log info": { LOG_LEVEL: "info" },
  telemetry: {
    LOG_LEVEL: "off",
    OTEL_DENO: "true",
    OTEL_PROPAGATORS: "tracecontext",
    // Nothing listens there.
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
  },
};

/** This server with its log, and with OpenTelemetry. */
export const watched: readonly Server[] = watchedServers(own);

function watchedServers(own: readonly Server[]): Server[] {
  const plain = own.find(({ revision, login }) =>
    revision === STATELESS && login === "none"
  )!;
  return Object.entries(WATCHED).map(([name, settings]) => ({
    ...plain,
    name: `watched, ${name}`,
    settings,
  }));
}

/**
 * This server as it was at a commit, by the names it has today.
 *
 * @param checkout the files of that commit; ends in a slash
 */
export function serversBefore(checkout: string): readonly Server[] {
  const before = ownServers(checkout);
  return [
    ...before,
    accountsServer(checkout, before),
    ...watchedServers(before),
  ];
}

/** The bare servers with telemetry: that of Deno, or of a call here too. */
export const watchedBare: readonly Server[] = [
  ...bare,
  {
    ...limit,
    name: "observed floor",
    command: [...deno, `${root}bench/servers/observed_floor.ts`],
  },
].map((server) => ({
  ...server,
  name: `${server.name}, telemetry`,
  settings: WATCHED.telemetry,
}));

/** The server without a log; all others write a line for each call. */
export const [unlogged] = watched;

/** This server as `deno task ts bundle` leaves it, and the floor of its start. */
export const bundled: readonly Server[] = [
  ...own.map((server) => ({
    ...server,
    name: `${server.name} bundled`,
    command: [...deno, "--unstable-kv", `${root}dist/main.js`],
    withCatalogue: undefined,
  })),
  {
    ...limit,
    name: "floor bundled",
    command: [...deno, "--unstable-kv", `${root}dist/floor/cold_floor.js`],
  },
];

/** The peers, with sessions in memory where they have any. */
export const others: readonly Server[] = [
  { name: "sdk 2025", revision: "2025-11-25", command: sdkHandler },
  { name: "sdk 2026", revision: STATELESS, command: sdkHandler },
  { name: "mcp-handler 2025", revision: "2025-11-25", command: mcpHandler },
  { name: "mcp-handler 2026", revision: STATELESS, command: mcpHandler },
  {
    name: "hono-mcp",
    revision: "2025-11-25",
    command: [...deno, `${peers}/hono_mcp.mjs`],
  },
  {
    // Its sessions know no later revision.
    name: "mcp-lite",
    revision: "2025-03-26",
    command: [...deno, `${peers}/mcp_lite.mjs`],
  },
  {
    name: "fastmcp",
    revision: "2025-11-25",
    command: [...deno, `${peers}/fastmcp.mjs`],
  },
  {
    name: "sdk-v1 express node",
    revision: "2025-11-25",
    command: ["node", `${peers}/sdk_express.mjs`],
  },
];

/**
 * Installs the peers and makes the bundle, if they are among the servers.
 *
 * @throws {Error} when that fails
 */
export async function prepare(servers: readonly Server[]): Promise<void> {
  if (servers.some((server) => others.includes(server))) {
    // Node reads the same installation as Deno.
    await runDeno(peers, "install", "--frozen");
  }
  if (servers.some((server) => bundled.includes(server))) {
    await runDeno(root, "task", "ts", "bundle");
    const source = "bench/servers/cold_floor.ts";
    await runDeno(root, "bundle", "--outdir", "dist/floor", source);
  }
}

async function runDeno(cwd: string, ...args: string[]): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [args[0], "--quiet", ...args.slice(1)],
    cwd,
    stdout: "null",
  });
  const { success } = await command.output();
  if (!success) throw new Error(`deno ${args.join(" ")} failed`);
}
