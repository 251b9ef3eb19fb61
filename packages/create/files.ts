import { dirname } from "node:path";
import { Failure } from "../call/failure.ts";

/** A failure that the person who typed the command can fix. */
export class CreateError extends Failure {
  override name = "CreateError";
}

export async function exists(path: string): Promise<boolean> {
  return await Deno.lstat(path).then(() => true, (error) => {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  });
}

/**
 * Writes the files that do not exist yet, with their directories. If the disk is
 * full, no part of a file is left.
 */
export async function writeFiles(
  root: string,
  files: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const full = `${root}/${path}`;
    await Deno.mkdir(full.replace(/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(full, text, { createNew: true })
      .catch(async (error) => {
        const isOther = error instanceof Deno.errors.AlreadyExists;
        if (!isOther) await Deno.remove(full).catch(() => {});
        throw error;
      });
  }
}

/**
 * Writes a file in one step: if the program is stopped, or the disk is full,
 * either the old or the new file is there.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(`${path}.new`, text);
    await Deno.rename(`${path}.new`, path);
  } catch (error) {
    await Deno.remove(`${path}.new`).catch(() => {});
    throw error;
  }
}

/**
 * Makes a git repository without a commit, unless there is one or git is
 * missing.
 */
export async function initializeGit(root: string): Promise<void> {
  const git = (...args: string[]) =>
    new Deno.Command("git", {
      args: ["-C", root, ...args],
      stdout: "null",
      stderr: "null",
    }).output();
  try {
    if (!(await git("rev-parse", "--git-dir")).success) {
      await git("init", "--quiet");
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Formats files after names were inserted, which change line lengths. */
export async function formatFiles(
  root: string,
  paths: readonly string[] = [],
): Promise<void> {
  await new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", ...paths],
    cwd: root,
    stdout: "null",
    stderr: "null",
  }).output();
}

export async function formatCode(text: string): Promise<string> {
  await using process = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", "--ext=ts", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = process.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  return await new Response(process.stdout).text();
}

/**
 * Reserves a path for one command, until the returned object is disposed of. If
 * the process dies, the system removes the lock.
 *
 * @param doing the message for other commands that want the path
 * @throws {CreateError} if another process has reserved it
 */
export async function reservePath(
  path: string,
  doing = `making ${path}`,
): Promise<AsyncDisposable> {
  const name = `${path}.lock`;
  const file = await Deno.open(name, { write: true, create: true, mode: 0o600 })
    .catch(explainMissing(`There is no folder ${dirname(path)}`));
  // The command before may have removed the file after this process had opened
  // it.
  const isTaken = !await file.tryLock(true) ||
    (await Deno.stat(name).catch(() => undefined))?.ino !==
      (await file.stat()).ino;
  if (isTaken) {
    file.close();
    throw new CreateError(`Another command is ${doing}`);
  }
  return {
    async [Symbol.asyncDispose]() {
      await Deno.remove(name).catch(() => {});
      file.close();
    },
  };
}

/** Reserves a project for a command that changes it. @throws {CreateError} */
export const reserveProject = (root = ".") =>
  reservePath(
    `${root}/server.ts`,
    "changing this project: wait until it has ended",
  );

/**
 * Reads the `server.ts` of a project or of a clone.
 *
 * @throws {CreateError} if there is none
 */
export function readServer(root = "."): Promise<string> {
  return Deno.readTextFile(`${root}/server.ts`).catch(explainMissing(
    "There is no server.ts here. Run this in the folder of a project, or of a clone.",
  ));
}

/** Makes a function that replaces the error for a missing file by a message. */
export function explainMissing(words: string) {
  return (it: unknown): never => {
    throw it instanceof Deno.errors.NotFound ? new CreateError(words) : it;
  };
}
