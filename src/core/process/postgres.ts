/**
 * Opens Postgres as the database of the process. The package is loaded only
 * here, by its name in the import map, so that no other start loads or
 * downloads it.
 *
 * @module
 */
import type {
  openPostgres,
  PostgresError,
} from "../../../packages/postgres/mod.ts";
import type { Logger } from "../log/log.ts";
import { StartError } from "../settings/complaint.ts";
import type { Config } from "../settings/config.ts";
import { printDatabase } from "../settings/server.ts";
import type { Kv } from "../kv/kv.ts";
import { AWAITED_KINDS } from "../kv/awaited.ts";

/**
 * The package's name. In `import()` it is no literal, because Deno would load a
 * literal at the start.
 */
const PACKAGE = "@tool-server/tool-server/postgres";

/** The file of the package that `deno task ts bundle` puts next to a bundle. */
const BUNDLED = "./postgres_package.js";

/** Loads the package; in a bundle, from the file next to it. */
async function loadPackage(): Promise<{ openPostgres: typeof openPostgres }> {
  if (import.meta.url.endsWith(".ts")) return await import(PACKAGE);
  try {
    return await import(new URL(BUNDLED, import.meta.url).href);
  } catch (error) {
    // In a bundle that another tool made, the package may be found by its name.
    return await import(PACKAGE).catch(() => {
      throw error;
    });
  }
}

/** Returns the fix for an error of loading the package. */
function fixOfLoading(message: string): string {
  const [, kind, place = ""] =
    /Requires (read|import) access to "([^"]+)"/.exec(message) ?? [];
  if (kind === "import") return `Add --allow-import=${place} to deno run`;
  if (place.endsWith(".js") || message.includes(BUNDLED.slice(1))) {
    return "Run deno task ts bundle --postgres, and let the process read " +
      "dist/postgres_package.js";
  }
  if (kind === "read") {
    const folder = place.replace(/[/\\][^/\\]*$/, "");
    return `Add "${folder}" to read of permissions.default in deno.json, or ` +
      "to --allow-read of deno run";
  }
  return `Add "${PACKAGE.replace(/\/postgres$/, "")}" to the imports of ` +
    "deno.json, see that its package pg can be downloaded, or give " +
    "kv: await openPostgres(…) to serve() (docs/postgres.md)";
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
    const { message } = error as Error;
    throw new StartError({
      ...complaint,
      wants: `the package of Postgres: ${message}`,
      fix: fixOfLoading(message),
    });
  }
  try {
    return await open(kvPath!, {
      password: kvPassword,
      connections: kvConnections,
      announced: AWAITED_KINDS,
      onWarning: (message, properties) => log.warning(message, properties),
      onWaiting: ({ message }) =>
        log.warning(`Waiting for the database: ${message}`),
    });
  } catch (error) {
    const { message, reason = message, fix } = error as
      & Partial<PostgresError>
      & Error;
    throw new StartError({
      ...complaint,
      wants: `a database that can be opened: ${reason}`,
      fix: fix ?? "Look at the log of Postgres",
    });
  }
}
