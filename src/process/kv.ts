/**
 * The database of the process.
 *
 * @module
 */
import type { Config } from "../config/config.ts";
import type { Logger } from "../log.ts";
import { whileLocked } from "../store/locked.ts";
import { isService, type Origin } from "./service.ts";
import { StartError } from "./start_error.ts";

/**
 * Refuses Deno's default database for a service. It depends on the folder, so
 * the next release of the service would start with an empty one.
 *
 * @throws {StartError}
 */
export function checkDatabase(
  { kvPath, deployed }: Config,
  origin: Omit<Origin, "pid" | "ppid">,
): void {
  // Without Deno KV nothing is kept anyway, and a warning says so.
  const isKept = typeof Deno.openKv === "function";
  if (kvPath !== undefined || deployed || !isKept) return;
  if (!isService({ pid: Deno.pid, ppid: Deno.ppid, ...origin })) return;
  throw new StartError(
    "KV_PATH: a service must say where its database is, for Deno's default " +
      "one belongs to this folder and is lost with it. Use a file outside of " +
      "the release, such as /var/lib/tool-server/tools.db.",
  );
}

/** @throws {StartError} */
export async function openKv(
  { kvPath }: Config,
  log: Logger,
): Promise<Deno.Kv> {
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
    const { memoryKv } = await import("../store/memory_kv.ts");
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

/** @throws {StartError} if Deno would ask for permission */
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
