/**
 * `deno task ts backup DATABASE COPY`: a consistent copy of a database file,
 * while servers write to it. The copy is complete, or does not exist.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { usageFailure } from "../call/failure.ts";
import { parseOptions, runProgram } from "../call/program.ts";
import { print } from "../call/standard_output.ts";
import {
  CreateError,
  exists,
  explainMissing,
  reservePath,
} from "../create/files.ts";

const USAGE = `Usage: deno task ts backup data/tools.db backups/tools.db

Copies a database file while servers write to it. An older copy is not replaced.`;

/**
 * Copies a database of Deno KV, or of denokv. The copy has all writes that were
 * acknowledged before the backup began. Only its owner may read it. Unlike the
 * database, it has no free space.
 *
 * @throws {CreateError} if the database cannot be read, the copy already
 * exists, or another command is making it
 */
export async function backUp(path: string, copy: string): Promise<void> {
  // Opening a missing database would make an empty one.
  if (/^postgres(?:ql)?:/i.test(path)) {
    throw new CreateError("A database in Postgres is copied by pg_dump");
  }
  await Deno.stat(path).catch(
    explainMissing(`There is no database at ${path}`),
  );
  await using _reserved = await reservePath(copy);
  const taken = () =>
    new CreateError(`${copy} is there already: use another name`);
  if (await exists(copy)) throw taken();
  const partial = `${copy}.partial`;
  async function clean() {
    for (const end of ["", "-journal", "-wal", "-shm"]) {
      await Deno.remove(partial + end).catch(() => {});
    }
  }
  await using _cleaning = { [Symbol.asyncDispose]: clean };
  // A killed backup leaves a journal, which SQLite would take for that of this
  // copy.
  await clean();
  // SQLite accepts an empty file. So the file is made here, where others cannot
  // read it even while SQLite writes.
  await Deno.writeFile(partial, new Uint8Array(), { mode: 0o600 });
  try {
    // If the database were opened only for reading, SQLite would leave its
    // files next to it.
    using database = new DatabaseSync(path);
    // Checkpoints of the servers may block the copy for a moment.
    database.exec("PRAGMA busy_timeout = 10000");
    database.prepare("VACUUM INTO ?").run(partial);
  } catch (error) {
    throw new CreateError(
      `${path} cannot be copied: ${(error as Error).message}`,
    );
  }
  {
    using copied = new DatabaseSync(partial, { readOnly: true });
    const { integrity_check: found } = copied.prepare("PRAGMA integrity_check")
      .get()!;
    if (found !== "ok") throw new CreateError(`The copy is damaged: ${found}`);
  }
  {
    // The copy is written to the disk first, so that even if the machine stops
    // now, no half copy has this name.
    using written = await Deno.open(partial, { read: true, write: true });
    await written.sync();
  }
  // Unlike a rename, a link never replaces an older copy.
  await Deno.link(partial, copy).catch((error) => {
    throw error instanceof Deno.errors.AlreadyExists ? taken() : error;
  });
}

/** Reads the two files that a command line names. @throws {Failure} */
export function parseTwoFiles(args: readonly string[]): [string, string] {
  const { positionals: [from, to, ...others] } = parseOptions(args, {});
  if (to !== undefined && others.length === 0) return [from, to];
  throw usageFailure("Name two files");
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runProgram(args, USAGE, async () => {
    const [path, copy] = parseTwoFiles(args);
    await backUp(path, copy);
    print(`${copy} is a copy of ${path}`);
  });
}

if (import.meta.main) Deno.exit(await main(Deno.args));
