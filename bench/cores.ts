/**
 * `deno task bench cores`: one process and several on one port, on one SQLite
 * file, on one denokv server and on one PostgreSQL.
 *
 *     --processes=1,2,4   how many to compare
 *     --engines=a,b       sqlite, denokv (found on PATH or in ~/.cargo/bin),
 *                         postgres (Debian's, in a cluster of its own),
 *                         unflushed (the same with synchronous_commit off: a
 *                         commit waits for no disk, as in denokv)
 *     --rounds=3          how often everything is repeated, in turns
 *     --seconds=4         how long one load lasts
 *
 * The second table is what the servers and the database use: the processor time
 * from a start to its first answer and that of a refresh, and the memory after
 * the load.
 *
 * The load runs on the same cores as what it measures.
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import { parseArgs } from "node:util";
import { SignIn } from "../packages/client/mod.ts";
import { openSharedKv } from "../tests/kit/databases.ts";
import { freePort } from "../tests/kit/port.ts";
import { findPostgres, Postgres } from "../tests/kit/postgres.ts";
import { until } from "../tests/kit/wait.ts";
import { count } from "./arguments.ts";
import {
  type Call,
  callHealth,
  connect,
  type Endpoint,
  initialize,
} from "./client.ts";
import { checkWrk, load } from "./load.ts";
import { saveGrant } from "./login.ts";
import { STATELESS } from "./servers.ts";
import { Program, Usage } from "./program.ts";
import { spread, table } from "./statistics.ts";

answerHelp();
const { values: options } = parseArgs({
  args: Deno.args,
  options: {
    processes: { type: "string", default: "1,2,4" },
    engines: { type: "string", default: "sqlite,denokv,postgres" },
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "4" },
  },
});
const ENGINES = ["sqlite", "denokv", "postgres", "unflushed"];
const engines = options.engines.split(",");
if (!engines.every((engine) => ENGINES.includes(engine))) {
  console.error(`--engines names some of ${ENGINES.join(", ")}`);
  Deno.exit(1);
}
const rounds = count("rounds", options.rounds);
const seconds = count("seconds", options.seconds);

/** The revision with sessions. */
const SESSIONS = "2025-11-25" as const;
const CONNECTIONS = 32;
const REFRESHING = 64;
const WARM_UP_SECONDS = 2;
/** The access token of the database; every KV Connect client sends it. */
const ACCESS_TOKEN = "for-the-benchmark-alone";
Deno.env.set("DENO_KV_ACCESS_TOKEN", ACCESS_TOKEN);

/** The loads by their column, in requests per second. */
const COLUMNS = [
  "2026 call",
  "2025 call, one session",
  "initialize",
  "/token",
] as const;

/** The use of processors and memory, by its column. */
const USES = [
  "start, ms",
  "refresh: server, ms",
  "database, ms",
  "memory: server, MiB",
  "database, MiB",
] as const;

type Rates = Record<typeof COLUMNS[number] | typeof USES[number], number>;

/** A database for the time of a measurement. */
interface Engine extends AsyncDisposable {
  kvPath: string;
  /** The use of its own processes, if it has any. */
  usage?: Usage;
}

/** Opens a database for the time of a measurement. */
async function openEngine(
  name: string,
  directory: string,
): Promise<Engine> {
  const path = `${directory}/tools.db`;
  if (name === "sqlite") {
    return { kvPath: path, async [Symbol.asyncDispose]() {} };
  }
  if (name === "postgres" || name === "unflushed") {
    const postgres = await Postgres.start(
      findPostgres()!,
      name === "unflushed" ? { synchronous_commit: "off" } : {},
    );
    return {
      kvPath: postgres.url,
      usage: new Usage(postgres.pid),
      [Symbol.asyncDispose]: () => postgres[Symbol.asyncDispose](),
    };
  }
  const port = freePort();
  const server = new Program(
    "sh",
    ["-c", `PATH="$PATH:$HOME/.cargo/bin" exec denokv "$@"`, "sh"]
      .concat("--sqlite-path", path, "serve", "--addr", `127.0.0.1:${port}`),
    { DENO_KV_ACCESS_TOKEN: ACCESS_TOKEN },
  );
  const kvPath = `http://127.0.0.1:${port}`;
  await answering(kvPath);
  return {
    kvPath,
    usage: server.usage,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** Starts processes on one port, as `deno task ts cores` does. */
async function startServer(
  processes: number,
  env: Record<string, string>,
): Promise<{ port: number; url: string; usage: Usage } & AsyncDisposable> {
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const run = ["run", "--quiet", "-A", "--unstable-net"];
  const server = new Program(Deno.execPath(), [
    ...run,
    ...(processes > 1
      ? ["src/core/process/cores.ts", Deno.execPath(), ...run, "main.ts"]
      : ["main.ts"]),
  ], {
    ...env,
    PORT: String(port),
    PROCESSES: String(processes),
    BASE_URL: url,
  });
  await answering(`${url}/health`);
  return {
    port,
    url,
    usage: server.usage,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

async function answering(url: string): Promise<void> {
  await until(() =>
    fetch(url).then(async ({ body }) => {
      await body?.cancel();
      return true;
    }, () => false)
  );
}

async function rateOf(endpoint: Endpoint, call: Call): Promise<number> {
  const press = (seconds: number) =>
    load(endpoint, call, { seconds, connections: CONNECTIONS });
  await press(WARM_UP_SECONDS);
  const { requests, seconds: taken, refused, broken } = await press(seconds);
  if (refused + broken > 0) throw new Error(`${refused + broken} failed`);
  return requests / taken;
}

async function measureCalls(
  processes: number,
  kvPath: string,
): Promise<Pick<Rates, "2026 call" | "2025 call, one session" | "initialize">> {
  await using server = await startServer(processes, { KV_PATH: kvPath });
  const { port } = server;
  const session = await connect({ port, revision: SESSIONS });
  return {
    "2026 call": await rateOf({ port, revision: STATELESS }, callHealth),
    "2025 call, one session": await rateOf(session, callHealth),
    "initialize": await rateOf({ port, revision: SESSIONS }, initialize),
  };
}

/** Measures clients that refresh all the time, each in a network of its own. */
async function measureTokens(
  processes: number,
  { kvPath, usage }: Engine,
): Promise<Pick<Rates, "/token" | typeof USES[number]>> {
  await using server = await startServer(processes, {
    KV_PATH: kvPath,
    AUTH_STRATEGY: "oauth",
    OAUTH_PROVIDER: "dev",
    TRUSTED_PROXIES: "127.0.0.1",
  });
  const start = server.usage.cpuMilliseconds();
  const registration = await SignIn.begin({
    url: `${server.url}/mcp`,
    redirectUri: "http://127.0.0.1/callback",
    clientName: "bench",
  });
  await using kv = await openSharedKv(kvPath);
  const grants = await Promise.all(
    Array.from(
      { length: REFRESHING },
      () => saveGrant(kv, server.url, registration.clientId),
    ),
  );
  let refreshed = 0;
  const refreshUntil = async (deadline: number) => {
    await Promise.all(grants.map(async (grant) => {
      while (performance.now() < deadline) {
        const { refreshToken } = await SignIn.refresh(
          registration,
          grant.refreshToken!,
          fetchFromElsewhere,
        );
        grant.refreshToken = refreshToken;
        refreshed++;
      }
    }));
  };
  await refreshUntil(performance.now() + WARM_UP_SECONDS * 1000);
  refreshed = 0;
  const before = [server.usage, usage].map((it) => it?.cpuMilliseconds() ?? 0);
  const started = performance.now();
  await refreshUntil(started + seconds * 1000);
  const taken = performance.now() - started;
  const [own, other] = [server.usage, usage].map((it, index) =>
    ((it?.cpuMilliseconds() ?? 0) - before[index]) / refreshed
  );
  return {
    "/token": refreshed / taken * 1000,
    "start, ms": start,
    "refresh: server, ms": own,
    "database, ms": other,
    "memory: server, MiB": server.usage.residentMebibytes(),
    "database, MiB": usage?.residentMebibytes() ?? 0,
  };
}

/** Fetches as a client in a network of its own. */
const fetchFromElsewhere: typeof fetch = (input, init) => {
  const address = crypto.getRandomValues(new Uint8Array(3)).join(".");
  const headers = { "x-forwarded-for": `10.${address}` };
  return fetch(input, { ...init, headers });
};

async function measure(engine: string, processes: number): Promise<Rates> {
  const directory = await Deno.makeTempDir({ prefix: "bench-cores-" });
  try {
    await using database = await openEngine(engine, directory);
    return {
      ...await measureCalls(processes, database.kvPath),
      ...await measureTokens(processes, database),
    };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

await checkWrk();
const cases = engines.flatMap((engine) =>
  options.processes.split(",").map((text) => ({
    engine,
    processes: count("processes", text),
    rates: [] as Rates[],
  }))
);
for (let round = 0; round < rounds; round++) {
  // There and back, so that a drift of the machine favours none.
  for (const it of round % 2 === 0 ? cases : cases.toReversed()) {
    console.error(`round ${round + 1}: ${it.engine}, ${it.processes}`);
    it.rates.push(await measure(it.engine, it.processes));
  }
}
for (const columns of [COLUMNS, USES]) {
  console.log(table(
    ["engine, processes", ...columns],
    cases.map(({ engine, processes, rates }) => [
      `${engine}, ${processes}`,
      ...columns.map((column) => spread(rates.map((it) => it[column]))),
    ]),
  ));
}
