/**
 * Processes on a database server of a test's own: denokv, and Postgres.
 *
 * @module
 */
import { BASE_URL } from "./server.ts";
import {
  type OpenIdProvider,
  startOpenIdProvider,
} from "./open_id_provider.ts";
import { Processes } from "./processes.ts";
import { ACCESS_TOKEN, buildDenokv, Denokv, findDenokv } from "./denokv.ts";
import { findPostgres, Postgres } from "./postgres.ts";

/** A database server that stalls, dies and comes back as a test says. */
export interface RemoteDatabase extends AsyncDisposable {
  /** The `KV_PATH` of the processes that use the database. */
  readonly url: string;
  start(): Promise<void>;
  /** Kills the server. */
  kill(): Promise<void>;
  /** Stalls the server. */
  stop(): Promise<void>;
  /** Lets the server go on. */
  goOn(): Promise<void>;
}

/** The surroundings of a test. */
export interface Setting<D extends RemoteDatabase = RemoteDatabase> {
  database: D;
  provider: OpenIdProvider;
  /** Three processes, by default on the database itself. */
  start(
    kvPath?: string,
    entry?: string,
    environment?: Record<string, string>,
  ): Promise<Processes>;
}

type Run<D extends RemoteDatabase> = (setting: Setting<D>) => Promise<void>;

const denokv = await findDenokv() ?? await buildDenokv();
const postgres = findPostgres();

/**
 * The database servers, each with a function that starts it, or the reason why
 * it is missing.
 */
export const REMOTE: Record<string, (() => Promise<RemoteDatabase>) | string> =
  {
    denokv: denokv
      ? () => Denokv.start(denokv)
      : "no denokv, nor cargo to build it",
    Postgres: postgres
      ? () => Postgres.start(postgres)
      : "no PostgreSQL in /usr/lib/postgresql",
  };

/**
 * Defines a test on each database server; a server that is not installed is
 * left out.
 */
export function remoteTest(name: string, run: Run<RemoteDatabase>): void {
  for (const [kind, start] of Object.entries(REMOTE)) {
    define(`${name} · ${kind}`, start, run);
  }
}

/** Defines a test on denokv alone. */
export function denokvTest(name: string, run: Run<Denokv>): void {
  define(name, REMOTE.denokv as (() => Promise<Denokv>) | string, run);
}

function define<D extends RemoteDatabase>(
  name: string,
  startDatabase: (() => Promise<D>) | string,
  run: Run<D>,
): void {
  const isThere = typeof startDatabase !== "string";
  Deno.test({
    name: isThere ? name : `${name}, left out: ${startDatabase}`,
    ignore: !isThere,
    async fn() {
      if (!isThere) return;
      await using database = await startDatabase();
      await using provider = await startOpenIdProvider(BASE_URL);
      await using stack = new AsyncDisposableStack();
      await run({
        database,
        provider,
        async start(kvPath = database.url, entry, more) {
          const environment = {
            ...provider.environment,
            ...more,
            DENO_KV_ACCESS_TOKEN: ACCESS_TOKEN,
          };
          const processes = stack.use(
            new Processes(environment, { kvPath, entry }),
          );
          await Promise.all([1, 2, 3].map(() => processes.start()));
          return processes;
        },
      });
    },
  });
}
