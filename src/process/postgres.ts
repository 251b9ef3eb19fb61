/**
 * The database of the process where it is Postgres. The package that knows
 * Postgres is loaded here alone, and by a name in the import map, so that no
 * other start loads or downloads any of it.
 *
 * @module
 */
import type { openPostgres } from "../../packages/postgres/mod.ts";
import type { Logger } from "../log/log.ts";
import { StartError } from "../settings/complaint.ts";
import type { Config } from "../settings/config.ts";
import { printDatabase } from "../settings/server.ts";
import type { Kv } from "../store/kv.ts";
import { AWAITED } from "../store/awaited.ts";

/** Not a literal in `import()`, which Deno would load ahead of time. */
const PACKAGE = "@tool-server/tool-server/postgres";

/** The package as `deno task bundle` puts it next to a bundle. */
const BUNDLED = "./postgres_package.js";

/** Loads the package, from beside a bundle if this is one. */
async function loadPackage(): Promise<{ openPostgres: typeof openPostgres }> {
  if (!import.meta.url.endsWith(".ts")) {
    try {
      return await import(new URL(BUNDLED, import.meta.url).href);
    } catch {
      // On Node, or bundled by another tool.
    }
  }
  return await import(PACKAGE);
}

/** @throws {StartError} */
export async function openPostgresKv(
  { kvPath, kvPassword, kvConnections }: Pick<
    Config,
    "kvPath" | "kvPassword" | "kvConnections"
  >,
  log: Logger,
): Promise<Kv> {
  const complaint = { variable: "KV_PATH", got: printDatabase(kvPath!) };
  let open: typeof openPostgres;
  try {
    ({ openPostgres: open } = await loadPackage());
  } catch (error) {
    throw new StartError({
      ...complaint,
      wants: `the package of Postgres: ${(error as Error).message}`,
      fix: 'Add "@tool-server/tool-server" to the imports of deno.json, or ' +
        "give kv: await openPostgres(…) to serve() (docs/postgres.md)",
    });
  }
  try {
    return await open(kvPath!, {
      password: kvPassword,
      connections: kvConnections,
      announced: AWAITED,
      onWarning: (message, properties) => log.warning(message, properties),
      onWaiting: ({ message }) =>
        log.warning(`Waiting for the database: ${message}`),
    });
  } catch (error) {
    const { message, fix } = error as Error & { fix?: string };
    throw new StartError({
      ...complaint,
      wants: `a database that can be opened: ${message}`,
      fix: fix ?? "Look at the log of Postgres",
    });
  }
}
