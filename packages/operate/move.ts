/**
 * `deno task ts move FROM TO`: moves all records of a server to another
 * database, while no server runs. People stay signed in.
 *
 * @module
 */
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/core/clock.ts";
import { openKv } from "../../src/core/process/kv.ts";
import { StartError } from "../../src/core/settings/complaint.ts";
import type { Config } from "../../src/core/settings/config.ts";
import {
  isPostgres,
  isRemote,
  printDatabase,
} from "../../src/core/settings/server.ts";
import type { Kv } from "../../src/core/kv/kv.ts";
import { kvErrorOf, KvLockedError } from "../../src/core/kv/kv_error.ts";
import {
  checkMoveTarget,
  countKinds,
  isEmpty,
  MoveError,
  moveRecords,
} from "../../src/core/kv/moving.ts";
import { Failure, usageFailure } from "../call/failure.ts";
import { parseOptions, runProgram } from "../call/program.ts";
import { print } from "../call/standard_output.ts";
import type { PostgresKv } from "../postgres/mod.ts";
import { commandFailure, commandLog, fileExists } from "./database.ts";

const USAGE = `Usage: deno task ts move FROM TO [--dry-run]

Each is a database as KV_PATH has it: a file, the URL of a denokv server, or a
postgres:// URL. Stop every server before: one that has a file or a database in
Postgres open is found. TO has to be empty. --dry-run counts, and writes nothing.
DENO_KV_ACCESS_TOKEN and PGPASSWORD are of both; TO_KV_ACCESS_TOKEN and
TO_PGPASSWORD of the second alone.`;

const PROGRESS_MILLISECONDS = 1000;

/** Opens one of the databases. @throws {StartError} */
async function open(kvPath: string, isSecond: boolean): Promise<Kv> {
  const own = (name: string) =>
    isSecond && Deno.env.get(`TO_${name}`) || undefined;
  const token = own("KV_ACCESS_TOKEN");
  // Deno reads this variable whenever it opens a database.
  if (token) Deno.env.set("DENO_KV_ACCESS_TOKEN", token);
  const kvPassword = own("PGPASSWORD") ?? Deno.env.get("PGPASSWORD");
  return await openKv({ kvPath, kvPassword } as Config, commandLog("move"));
}

/**
 * True if a process has the database open, even an idle one. False for a file
 * that is no database: opening it later reports the reason.
 */
function isOpenElsewhere(path: string): boolean {
  using database = new DatabaseSync(path);
  try {
    // The first access locks the file for this process alone.
    database.exec(
      "PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; " +
        "BEGIN EXCLUSIVE; ROLLBACK",
    );
    return false;
  } catch (error) {
    return kvErrorOf(error) instanceof KvLockedError;
  }
}

function inUse(path: string): MoveError {
  return new MoveError(
    `${
      printDatabase(path)
    } is open in another process: stop every server that ` +
      "uses it. Nothing was changed",
  );
}

/**
 * Opens one of the databases for a move, and checks that no other process uses
 * it.
 *
 * @throws {StartError}
 * @throws {MoveError}
 */
async function openAlone(kvPath: string, isSecond: boolean): Promise<Kv> {
  const isFile = !isRemote(kvPath) && !isPostgres(kvPath);
  if (isFile && await fileExists(kvPath) && isOpenElsewhere(kvPath)) {
    throw inUse(kvPath);
  }
  const kv = await open(kvPath, isSecond);
  if ("countOthers" in kv && await (kv as PostgresKv).countOthers() > 0) {
    await close(kv);
    throw inUse(kvPath);
  }
  return kv;
}

/** Closes a database, and waits for its connections. */
async function close(kv: Kv): Promise<void> {
  if (Symbol.asyncDispose in kv) {
    await (kv as AsyncDisposable & Kv)[Symbol.asyncDispose]();
  } else kv.close();
}

async function dryRun(from: Kv, toPath: string): Promise<void> {
  // Opening a missing file would create it.
  if (await fileExists(toPath)) {
    const to = await open(toPath, true);
    await checkMoveTarget(to).finally(() => close(to));
  }
  const kinds = await countKinds(from, systemClock);
  for (const { kind, records, bytes } of kinds) {
    print(`${records} ${kind}, ${Math.ceil(bytes / 1024)} KiB`);
  }
  const all = kinds.reduce((sum, { records }) => sum + records, 0);
  print(`${all} records; nothing was written`);
}

async function moveAll(from: Kv, toPath: string): Promise<void> {
  const to = await openAlone(toPath, true);
  let reportedMilliseconds = performance.now();
  try {
    const records = await moveRecords(from, to, {
      clock: systemClock,
      onProgress(records) {
        if (performance.now() - reportedMilliseconds < PROGRESS_MILLISECONDS) {
          return;
        }
        reportedMilliseconds = performance.now();
        console.error(`${records} records are written`);
      },
    });
    print(
      `${records} records are moved and compared: start the servers with the ` +
        "new KV_PATH, and keep the old database until they have run for a while",
    );
  } finally {
    await close(to);
  }
}

async function move(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseOptions(args, {
    "dry-run": { type: "boolean" },
  });
  const [fromPath, toPath] = positionals;
  if (positionals.length !== 2 || positionals.some((it) => /^(:|$)/.test(it))) {
    throw usageFailure("Name two databases");
  }
  if (fromPath === toPath) throw new MoveError("FROM and TO are the same");
  if (!await fileExists(fromPath)) {
    throw new MoveError(`There is no database at ${printDatabase(fromPath)}`);
  }
  const isDry = values["dry-run"];
  const from = await (isDry ? open : openAlone)(fromPath, false);
  try {
    if (await isEmpty(from)) {
      // An empty database may be left by a start that failed.
      throw new MoveError(
        `${printDatabase(fromPath)} has no records: there is nothing to move`,
      );
    }
    await (isDry ? dryRun : moveAll)(from, toPath);
  } finally {
    await close(from);
  }
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runProgram(args, USAGE, async () => {
    await move(args).catch((error) => {
      const isRefusal = error instanceof MoveError ||
        error instanceof StartError;
      if (error instanceof Failure || !(error instanceof Error)) throw error;
      throw commandFailure(
        isRefusal
          ? error.message
          : `The move failed: ${error.message}. Begin it again`,
      );
    });
  });
}

if (import.meta.main) Deno.exit(await main(Deno.args));
