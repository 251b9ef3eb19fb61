/**
 * The database of the process.
 *
 * @module
 */
import type { Config } from "../settings/config.ts";
import {
  isPostgres,
  isRemote,
  printDatabase,
  SERVER,
} from "../settings/server.ts";
import type { Logger } from "../log/log.ts";
import type { Kv } from "../kv/kv.ts";
import { untilUnlocked } from "../kv/operations.ts";
import { StartError } from "../settings/complaint.ts";
import { checkLock, guardFile, prepareFile } from "./kv_file.ts";

/**
 * The time after which a warning is logged that the database is not open yet.
 */
const WAIT_MILLISECONDS = 1500;
const LOCKED_MILLISECONDS = 10_000;

/**
 * Refuses Deno's default database for a service. That database belongs to the
 * folder, so the next release of the service would start with an empty one.
 * @throws {StartError}
 */
export function refuseDefaultDatabase(
  { kvPath, deployed }: Config,
  facts: Omit<ProcessFacts, "pid" | "ppid">,
): void {
  // Without Deno KV nothing is stored anyway, and a warning says so.
  const isKept = typeof Deno.openKv === "function";
  if (kvPath !== undefined || deployed || !isKept) return;
  if (!isService({ pid: Deno.pid, ppid: Deno.ppid, ...facts })) return;
  throw new StartError({
    variable: "KV_PATH",
    wants:
      "the place of a service's database, for Deno's default one belongs " +
      "to this folder and is lost with it",
    fix: "Use a file outside of the release, such as " +
      "/var/lib/tool-server/tools.db",
  });
}

/**
 * Checks `KV_PATH` like the settings do, for a command that reads only that
 * variable.
 *
 * @throws {StartError}
 */
function checkPath(kvPath?: string): void {
  const { shape: { parse, wants } } = SERVER.KV_PATH;
  try {
    if (kvPath !== undefined) parse(kvPath);
  } catch {
    throw new StartError({
      variable: "KV_PATH",
      got: printDatabase(kvPath!),
      wants,
      fix: "Use that of the server, such as data/tools.db",
    });
  }
}

/** @throws {StartError} */
export async function openKv(config: Config, log: Logger): Promise<Kv> {
  const { kvPath, deployed } = config;
  const got = kvPath && printDatabase(kvPath);
  checkPath(kvPath);
  if (isPostgres(kvPath)) {
    const { openPostgresKv } = await import("./postgres.ts");
    return await openPostgresKv(config, log);
  }
  // Without `--unstable-kv`, `Deno.openKv` does not exist.
  if (typeof Deno.openKv !== "function") {
    if (kvPath !== undefined && kvPath !== ":memory:") {
      throw new StartError({
        variable: "KV_PATH",
        got,
        wants: "Deno KV, which a database needs",
        fix: "Run with --unstable-kv",
      });
    }
    log.warning(
      "Everything is kept in memory and lost at the end: run with " +
        "--unstable-kv to keep sessions and sign-ins",
    );
    const { memoryKv } = await import("../kv/memory_kv.ts");
    return memoryKv();
  }
  const database = got ?? "the default database";
  const waiting = setTimeout(() => {
    const why = isRemote(kvPath)
      ? "it does not answer"
      : "it is locked by another process";
    log.warning(`Waiting for the database: ${why}`, { database });
  }, WAIT_MILLISECONDS);
  try {
    const file = kvPath?.startsWith(":") || isRemote(kvPath)
      ? undefined
      : kvPath;
    if (file) {
      await prepareFile(file, log);
      await untilUnlocked(() => checkLock(file), LOCKED_MILLISECONDS);
    }
    // Locked if another process is just opening the same file.
    const kv = await untilUnlocked(() => Deno.openKv(kvPath));
    if (file) {
      await guardFile(kv, file, log);
      const { deleteExpiredRecords } = await import("./file_collection.ts");
      deleteExpiredRecords(kv, file);
    }
    // A watch on a file sees only the changes of this process.
    return Object.assign(kv, { isRemote: deployed || isRemote(kvPath) });
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { message } = error as Error;
    throw new StartError({
      variable: "KV_PATH",
      got,
      wants: `a database that can be opened: ${message}`,
      fix: /locked/.test(message)
        ? "Stop the program that has it locked, such as a backup or the " +
          "sqlite3 command"
        : "Use data/tools.db, or look at that file or address",
    });
  } finally {
    clearTimeout(waiting);
  }
}

/** The id of the first process of a container. */
const FIRST_PID = 1;

export interface ProcessFacts {
  pid: number;
  ppid: number;
  /** `SYSTEMD_EXEC_PID`, which descendants of systemd's process inherit. */
  systemdPid?: string;
  /**
   * `DENO_USE_CGROUPS`, which is set in Deno's images, where `tini` is the
   * first process.
   */
  image?: string;
  terminal: boolean;
}

/**
 * True if systemd started the process, directly or through `deno task`, or if
 * it is a container's main process. Three facts prove nothing. Terminals of a
 * desktop inherit `INVOCATION_ID`. People also develop in containers. Outside
 * of Deno's images, a parent with the process id 1 adopts all background
 * processes.
 */
export function isService(
  { pid, ppid, systemdPid, image, terminal }: ProcessFacts,
): boolean {
  if (terminal) return false;
  if (pid === FIRST_PID) return true;
  if (image !== undefined && ppid === FIRST_PID) return true;
  return [pid, ppid].map(String).includes(systemdPid ?? "");
}
