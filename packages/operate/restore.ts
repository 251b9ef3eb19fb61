/**
 * `deno task ts restore COPY DATABASE`: replaces a database by a copy, if no
 * process has the database open. The old database is kept next to it under
 * another name.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { dirname } from "node:path";
import { deserialize } from "node:v8";
import { runProgram } from "../call/program.ts";
import { print } from "../call/standard_output.ts";
import {
  CreateError,
  exists,
  explainMissing,
  reservePath,
} from "../create/files.ts";
import { backUp, parseTwoFiles } from "./backup.ts";

const USAGE = `Usage: deno task ts restore backups/tools.db data/tools.db

Puts a copy in the place of a database, whose processes must have been stopped.
The database that was there is kept next to it, as data/tools.db.replaced.`;

/** The layout of the databases of this release, as the server checks it. */
export const LAYOUT = 5;

/**
 * Refuses a file on which a server would not start: a database of another
 * layout, one with records of a server but no layout, or the result of an
 * interrupted move. A file without the table of Deno KV is accepted.
 */
function checkLayout(path: string): void {
  using database = new DatabaseSync(path, { readOnly: true });
  const tables = database.prepare(
    "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'kv'",
  );
  if (!tables.get()) return;
  // Deno KV has the parts of a key between \x02 and \0.
  const first = (kind: string) =>
    database.prepare("SELECT v FROM kv WHERE k >= ? AND k < ? LIMIT 1").get(
      new TextEncoder().encode(`\x02${kind}\0`),
      new TextEncoder().encode(`\x02${kind}\x01`),
    )?.v;
  const refuse = (has: string, wants: string) => {
    throw new CreateError(
      `The copy has ${has}, and this release wants ${wants}: restore one with ` +
        "the release that it is of. Nothing was changed.",
    );
  };
  if (first("moving")) refuse("half of a move", "a whole database");
  const stored = first("layout");
  if (stored instanceof Uint8Array) {
    const layout = deserialize(stored);
    if (layout !== LAYOUT) refuse(`layout ${layout}`, `layout ${LAYOUT}`);
  } else if (["session", "grant", "secret"].some(first)) {
    refuse("no layout", `layout ${LAYOUT}`);
  }
}

/**
 * Writes a database's `-wal` into it, and removes `-wal` and `-shm`. Otherwise
 * SQLite would take them for those of the file that replaces the database.
 */
function checkpoint(path: string): void {
  try {
    using database = new DatabaseSync(path);
    // SQLite does this only if no other process has the database open.
    database.exec("PRAGMA journal_mode = DELETE");
  } catch (error) {
    const { message } = error as Error;
    const way = message.includes("locked")
      ? "Stop every process that has it open. Nothing was changed."
      : "If it is damaged, move it away, with its -wal and -shm.";
    throw new CreateError(`${path}: ${message}. ${way}`);
  }
}

/**
 * Restores a database from a copy. At any time the file is either the complete
 * old database or the complete new one. The new one gets the owner of the old
 * one, or of the folder if there was none.
 *
 * @throws {CreateError} if the copy is damaged or of another layout, the
 * database is open, the file that an earlier restore replaced still exists, or
 * another restore is running
 * @returns the file with the old database, if there was one
 */
export async function restore(
  copy: string,
  path: string,
): Promise<string | undefined> {
  if (await exists(path)) {
    // A link is followed, so that the file that it points to is replaced.
    path = await Deno.realPath(path)
      .catch(
        explainMissing(`${path} is a link to no file. Nothing was changed.`),
      );
  }
  await using _reserved = await reservePath(path);
  const restored = `${path}.restored`;
  const clean = () => Deno.remove(restored).catch(() => {});
  await using _cleaning = { [Symbol.asyncDispose]: clean };
  // Removes what a killed restore has left.
  await clean();
  await backUp(copy, restored);
  checkLayout(restored);
  const isReplacing = await exists(path);
  const { uid, gid } = await Deno.stat(isReplacing ? path : dirname(path));
  if (uid !== null) await Deno.chown(restored, uid, gid);
  const replaced = `${path}.replaced`;
  if (isReplacing) {
    checkpoint(path);
    await Deno.link(path, replaced).catch((error) => {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      throw new CreateError(
        `${replaced} is there from an earlier restore: move it away`,
      );
    });
  } else {
    for (const end of ["-wal", "-shm"]) {
      if (await exists(path + end)) await Deno.remove(path + end);
    }
  }
  await Deno.rename(restored, path).catch(async (error) => {
    if (isReplacing) await Deno.remove(replaced).catch(() => {});
    throw error;
  });
  return isReplacing ? replaced : undefined;
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runProgram(args, USAGE, async () => {
    const [copy, path] = parseTwoFiles(args);
    const replaced = await restore(copy, path);
    const before = replaced ? `; what was there is ${replaced}` : "";
    print(`${path} is ${copy}${before}`);
  });
}

if (import.meta.main) Deno.exit(await main(Deno.args));
