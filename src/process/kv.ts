/**
 * The database of the process.
 *
 * @module
 */
import type { Config } from "../settings/config.ts";
import { isPostgres, isRemote } from "../settings/server.ts";
import type { Logger } from "../log/log.ts";
import type { Kv } from "../store/kv.ts";
import { whileLocked } from "../store/persist.ts";
import { StartError } from "../settings/complaint.ts";

/** Opening takes a few milliseconds, unless another process has it locked. */
const WAIT_MILLISECONDS = 1500;
const LOCKED_MILLISECONDS = 10_000;
/** The rights of everyone but the owner and the group. */
const OTHERS = 0o007;
/** The beginning of every database that is not empty. */
const SQLITE = "SQLite format 3\0";

/**
 * Refuses Deno's default database for a service. It depends on the folder, so
 * the next release of the service would start with an empty one.
 *
 * @throws {StartError}
 */
export function checkDatabase(
  { kvPath, deployed }: Config,
  facts: Omit<ProcessFacts, "pid" | "ppid">,
): void {
  // Without Deno KV nothing is kept anyway, and a warning says so.
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

/** @throws {StartError} */
export async function openKv(config: Config, log: Logger): Promise<Kv> {
  const { kvPath, deployed } = config;
  if (isPostgres(kvPath)) {
    const { openPostgresKv } = await import("./postgres.ts");
    return await openPostgresKv(config, log);
  }
  // Without --unstable-kv there is none, whatever the types say.
  if (typeof Deno.openKv !== "function") {
    if (kvPath !== undefined && kvPath !== ":memory:") {
      throw new StartError({
        variable: "KV_PATH",
        got: kvPath,
        wants: "Deno KV, which a database needs",
        fix: "Run with --unstable-kv",
      });
    }
    log.warning(
      "Everything is kept in memory and lost at the end: run with " +
        "--unstable-kv to keep sessions and sign-ins",
    );
    const { memoryKv } = await import("../store/memory_kv.ts");
    return memoryKv();
  }
  const database = kvPath ?? "the default database";
  const waiting = setTimeout(() => {
    const why = isRemote(kvPath)
      ? "it does not answer"
      : "it is locked by another process";
    log.warning(`Waiting for the database: ${why}`, { database });
  }, WAIT_MILLISECONDS);
  try {
    if (kvPath && !kvPath.startsWith(":") && !isRemote(kvPath)) {
      await prepareFile(kvPath, log);
      await whileLocked(() => checkLock(kvPath), LOCKED_MILLISECONDS);
    }
    // Another process may be opening the same file.
    const kv = await whileLocked(() => Deno.openKv(kvPath));
    // A watch on a file sees this process alone.
    return Object.assign(kv, { isRemote: deployed || isRemote(kvPath) });
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { message } = error as Error;
    throw new StartError({
      variable: "KV_PATH",
      got: kvPath,
      wants: `a database that can be opened: ${message}`,
      fix: "Use data/tools.db, or look at that file or address",
    });
  } finally {
    clearTimeout(waiting);
  }
}

/**
 * Makes the folder and the file, readable only by their owner.
 *
 * @throws {StartError} if Deno would ask for permission
 * @throws {Error} if there is something that is not a database
 */
async function prepareFile(path: string, log: Logger): Promise<void> {
  const directory = path.replace(/[^/\\]*$/, "");
  if (!await mayUse(path)) {
    const place = directory || ".";
    throw new StartError({
      variable: "KV_PATH",
      got: path,
      wants: "a file that may be opened",
      fix:
        "Use a file in a folder that this process may read and write (data, " +
        `unless its command names another), or add --allow-read=${place} ` +
        `--allow-write=${place} to deno run, or "${place}" to read and write ` +
        "of permissions.default in deno.json",
    });
  }
  if (await isThere(path)) return await keepFromOthers(path, log);
  if (directory) await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    // SQLite takes it for an empty database, and makes its -wal like it.
    (await Deno.open(path, { createNew: true, write: true, mode: 0o600 }))
      .close();
  } catch (error) {
    // Another process made it meanwhile, or a link leads to where it will be.
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

/**
 * True if the database is there: a file that is empty or SQLite's.
 *
 * @throws {Error} if something else is there, whose rights stay as they are
 */
async function isThere(path: string): Promise<boolean> {
  let info;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
  if (info.isDirectory) throw new Error("it is a directory");
  // Opening a pipe would wait for its other end.
  if (!info.isFile) throw new Error("it is a device, a pipe or a socket");
  if (info.size === 0) return true;
  using file = await Deno.open(path);
  const bytes = new Uint8Array(SQLITE.length);
  await file.read(bytes);
  if (new TextDecoder().decode(bytes) === SQLITE) return true;
  throw new Error("file is not a database");
}

/**
 * Throws at once where `Deno.openKv()` would stop the whole process for five
 * seconds: no signal, no line of the log.
 *
 * @throws {Error} "database is locked"
 */
async function checkLock(path: string): Promise<void> {
  // Without it no other process has the database open.
  if (!await Deno.stat(`${path}-wal`).then(() => true, () => false)) return;
  const { DatabaseSync } = await import("node:sqlite");
  using database = new DatabaseSync(path);
  database.exec("PRAGMA busy_timeout = 0; SELECT name FROM sqlite_schema");
}

async function mayUse(path: string): Promise<boolean> {
  for (const name of ["read", "write"] as const) {
    const { state } = await Deno.permissions.query({ name, path });
    if (state !== "granted") return false;
  }
  return true;
}

/** Removes the rights of others from a database file that exists. */
async function keepFromOthers(path: string, log: Logger): Promise<void> {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      if (Deno.build.os === "windows" || !await mayUse(file)) continue;
      const { mode, isFile } = await Deno.stat(file);
      if (!isFile || mode === null || (mode & OTHERS) === 0) continue;
      await Deno.chmod(file, mode & 0o777 & ~OTHERS);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      log.warning("Others may read the database: run chmod o= on it", {
        file,
        error,
      });
    }
  }
}

/** The id of the first process of a container. */
const FIRST_PID = 1;

/** The facts about how a process was started. */
export interface ProcessFacts {
  pid: number;
  ppid: number;
  /** `SYSTEMD_EXEC_PID`, which descendants of systemd's process inherit. */
  systemdPid?: string;
  /** `DENO_USE_CGROUPS`: set in Deno's images, where `tini` is the first. */
  image?: string;
  /** True if its output goes to a terminal. */
  terminal: boolean;
}

/**
 * True if systemd started the process, directly or through `deno task`, or if it
 * is a container's main process. Not looked at: `INVOCATION_ID`, which terminals
 * of a desktop inherit; the marks of a container, in which people develop too;
 * and, outside of Deno's images, a parent with the number 1, which adopts all
 * background processes.
 */
export function isService(
  { pid, ppid, systemdPid, image, terminal }: ProcessFacts,
): boolean {
  if (terminal) return false;
  if (pid === FIRST_PID) return true;
  if (image !== undefined && ppid === FIRST_PID) return true;
  return [pid, ppid].map(String).includes(systemdPid ?? "");
}
