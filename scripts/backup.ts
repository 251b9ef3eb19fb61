/**
 * `deno task backup DATABASE COPY`: a consistent copy of a database file, while
 * servers write to it. A copy is whole or not there.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";

const USAGE = "Usage: deno task backup data/tools.db backups/tools.db";

/**
 * Copies a database of Deno KV, or of denokv: what was acknowledged before this
 * begins is in the copy. No one else may read it, and it is as small as it can
 * be, which the database itself never is.
 *
 * @throws {Error} when it cannot be read, or the copy is there already
 */
export async function backUp(path: string, copy: string): Promise<void> {
  // Opening would make an empty one.
  await Deno.stat(path);
  const partial = `${copy}.partial`;
  await using _cleaning = {
    async [Symbol.asyncDispose]() {
      await Deno.remove(partial).catch(() => {});
    },
  };
  // An empty file may be written into, and is never anyone else's to read.
  await Deno.writeFile(partial, new Uint8Array(), { mode: 0o600 });
  {
    // For reading alone SQLite would leave its files next to it.
    using database = new DatabaseSync(path);
    // Checkpoints of the servers may be in the way for a moment.
    database.exec("PRAGMA busy_timeout = 10000");
    database.prepare("VACUUM INTO ?").run(partial);
  }
  {
    using copied = new DatabaseSync(partial, { readOnly: true });
    const { integrity_check: found } = copied.prepare("PRAGMA integrity_check")
      .get()!;
    if (found !== "ok") throw new Error(`The copy is damaged: ${found}`);
  }
  // Unlike a rename, a link never takes the place of an older copy.
  await Deno.link(partial, copy);
}

if (import.meta.main) {
  const [path, copy] = Deno.args;
  if (copy === undefined) {
    console.error(USAGE);
    Deno.exit(1);
  }
  try {
    await backUp(path, copy);
  } catch (error) {
    console.error((error as Error).message);
    Deno.exit(1);
  }
}
