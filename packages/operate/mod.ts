/**
 * `deno task ts people …` and `deno task ts clients …`: the operator's commands
 * about people and clients, on the database of a running server, without a
 * browser. Each change is an audit event on standard error.
 *
 * @module
 */
import { userInfo } from "node:os";
import { StorageError } from "../../src/core/errors.ts";
import { openKv } from "../../src/core/process/kv.ts";
import { StartError } from "../../src/core/settings/complaint.ts";
import type { Config } from "../../src/core/settings/config.ts";
import { PEOPLE_SETTINGS } from "../../src/core/settings/people.ts";
import { printDatabase } from "../../src/core/settings/server.ts";
import { Settings } from "../../src/core/settings/setting.ts";
import { Database } from "../../src/core/kv/database.ts";
import type { Kv } from "../../src/core/kv/kv.ts";
import { checkedKv, checkLayoutOf } from "../../src/core/kv/layout.ts";
import { isEmpty } from "../../src/core/kv/moving.ts";
import { runProgram } from "../call/program.ts";
import { print } from "../call/standard_output.ts";
import { parseCommandLine, USAGE } from "./command_line.ts";
import { commandFailure, commandLog, fileExists } from "./database.ts";
import { openRegister } from "./register.ts";
import { runCommand } from "./run_command.ts";

/**
 * Returns the path of a server's database. Undefined for Deno's default one.
 *
 * @throws {Failure}
 */
async function databasePath(): Promise<string | undefined> {
  const path = Deno.env.get("KV_PATH")?.trim();
  if (!path) return undefined;
  if (path === ":memory:") {
    throw commandFailure(
      "KV_PATH=:memory: is within the server's process: sign in at /account " +
        "as one of OAUTH_ADMINS, or give the server a file",
    );
  }
  if (!await fileExists(path)) {
    throw commandFailure(
      `There is no database at KV_PATH=${printDatabase(path)}`,
    );
  }
  return path;
}

/**
 * Checks that a server has used Deno's default database for this folder. The
 * server that the operator means may run in another folder.
 *
 * @throws {Failure}
 */
async function checkDefault(kv: Kv): Promise<void> {
  if (await isEmpty(kv)) {
    throw commandFailure(
      "KV_PATH is not set: use that of the server, such as data/tools.db",
    );
  }
  console.error("KV_PATH is not set: this is Deno's default for this folder");
}

/** Reads the keys that encrypt people's secrets. @throws {StartError} */
function readSecretsKeys(): readonly string[] {
  const { SECRETS_KEYS } = PEOPLE_SETTINGS;
  const { name } = SECRETS_KEYS;
  const settings = new Settings({ [name]: Deno.env.get(name) });
  const keys = settings.read(SECRETS_KEYS);
  for (const complaint of settings.complaints) throw new StartError(complaint);
  return keys;
}

/** Runs a command, and returns its text. @throws {Failure} */
async function operate(args: readonly string[]): Promise<string> {
  // A command that is not understood opens no database.
  parseCommandLine(args);
  const log = commandLog("operate");
  const kvPath = await databasePath();
  const kvPassword = Deno.env.get("PGPASSWORD");
  const kv = await openKv({ kvPath, kvPassword } as Config, log);
  using _closing = { [Symbol.dispose]: () => kv.close() };
  if (kvPath === undefined) await checkDefault(kv);
  const database = new Database(checkedKv(kv));
  await checkLayoutOf(database);
  const register = openRegister(database, log);
  try {
    const by = userInfo().username;
    return await runCommand(args, { register, log, by, readSecretsKeys });
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    console.error(
      "The database does not answer, or another process has it locked. The " +
        "command may be done in part: see to the database, then run the " +
        "command again",
    );
    // The process exits at once, because closing the register would wait for
    // operations that hang.
    Deno.exit(1);
  } finally {
    await register.close();
  }
}

/** Runs a command line, and returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  return await runProgram(args, USAGE, async () => {
    const words = await operate(args).catch((error) => {
      throw error instanceof StartError ? commandFailure(error.message) : error;
    });
    print(words);
  });
}

if (import.meta.main) Deno.exit(await main(Deno.args));
