/**
 * The file of the database: readable only by its owner, and checked while it is
 * open.
 *
 * @module
 */
import type { Logger } from "../log/log.ts";
import { StartError } from "../settings/complaint.ts";

/** The permission bits of everyone but the owner and the group. */
const OTHERS = 0o007;
const SQLITE = "SQLite format 3\0";
const CHECK_MILLISECONDS = 10_000;
/** The time after which a missing file is logged again. */
const LOG_MILLISECONDS = 60_000;

/**
 * Makes the folder and the file, readable only by their owner.
 *
 * @throws {StartError} if Deno would ask for permission
 * @throws {Error} if there is a file that is not a database
 */
export async function prepareFile(path: string, log: Logger): Promise<void> {
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
    // An empty file is an empty database to SQLite, which gives the `-wal` file
    // the same mode.
    (await Deno.open(path, { createNew: true, write: true, mode: 0o600 }))
      .close();
  } catch (error) {
    // Another process has made the file meanwhile, or there is a link to a file
    // that does not exist yet.
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

/**
 * True if the file exists, and is empty or a SQLite database.
 *
 * @throws {Error} for any other file, which is left as it is
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
  // Opening a pipe would wait until the other end is opened.
  if (!info.isFile) throw new Error("it is a device, a pipe or a socket");
  if (info.size === 0) return true;
  using file = await Deno.open(path);
  const bytes = new Uint8Array(SQLITE.length);
  await file.read(bytes);
  if (new TextDecoder().decode(bytes) === SQLITE) return true;
  throw new Error("file is not a database");
}

/**
 * Throws at once if another program has locked the file. `Deno.openKv()` would
 * block the process for five seconds, without handling a signal or writing a
 * log line.
 * @throws {Error} "database is locked"
 */
export async function checkLock(path: string): Promise<void> {
  // Without a `-wal` file, no other process has the database open.
  if (!await Deno.stat(`${path}-wal`).then(() => true, () => false)) return;
  const { DatabaseSync } = await import("node:sqlite");
  using database = new DatabaseSync(path);
  database.exec("PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; ROLLBACK");
}

async function mayUse(path: string): Promise<boolean> {
  for (const name of ["read", "write"] as const) {
    const { state } = await Deno.permissions.query({ name, path });
    if (state !== "granted") return false;
  }
  return true;
}

/** Removes the permissions of others from an existing database file. */
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

/**
 * Makes a database report in the log, and by `checkPlace`, that its file was
 * removed or replaced. The open file can still be written, so nothing else
 * would fail. But no other process sees that file, and it is lost when this
 * process ends.
 */
export async function guardFile(
  kv: Deno.Kv,
  path: string,
  log: Logger,
  checkMilliseconds = CHECK_MILLISECONDS,
): Promise<void> {
  const opened = await identityOf(path);
  const checkPlace = async () => {
    // A disk that fails once does not mean that the file is gone.
    const found = await identityOf(path).catch(() => opened);
    if (found === opened) return;
    throw new Error(`The database file ${path} was removed or replaced`);
  };
  let loggedMilliseconds = -Infinity;
  const checking = setInterval(() => {
    checkPlace().catch((error) => {
      if (performance.now() - loggedMilliseconds < LOG_MILLISECONDS) return;
      loggedMilliseconds = performance.now();
      log.error(
        `${error.message}: what this process keeps from now on is lost. Stop ` +
          "every process, put the file of the last backup there, and start",
        { database: path },
      );
    });
  }, checkMilliseconds);
  Deno.unrefTimer(checking);
  const closeKv = kv.close.bind(kv);
  const close = () => {
    clearInterval(checking);
    closeKv();
  };
  Object.assign(kv, { checkPlace, close, [Symbol.dispose]: close });
}

/** Returns device and inode of a file; undefined if there is no file. */
async function identityOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await Deno.stat(path);
    return `${dev} ${ino}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
