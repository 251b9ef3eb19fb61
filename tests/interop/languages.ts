/**
 * The toolchains of other languages on this machine, and clients installed for
 * them. A cache that git ignores keeps them between runs.
 *
 * @module
 */

const HERE = new URL("./", import.meta.url);
const CACHE = new URL("../../data/interop/", import.meta.url);

/** A program and the arguments in front of its own. */
export type Command = readonly string[];

/** Runs a program to its end, and gives what it printed. */
async function run(
  [program, ...args]: Command,
  options: Deno.CommandOptions = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, {
    args,
    stdin: "null",
    ...options,
  }).output();
  const decoder = new TextDecoder();
  if (success) return decoder.decode(stdout);
  throw new Error(`${program} ${args}:\n${decoder.decode(stderr)}`);
}

/** True if a program is on this machine; otherwise prints a line. */
export async function has(...command: string[]): Promise<boolean> {
  try {
    await run(command);
    return true;
  } catch {
    console.log(`skipped: ${command[0]} is not on this machine`);
    return false;
  }
}

/**
 * Runs `install` once for each cache, though several ask for it; a failure leaves
 * nothing behind.
 */
async function cached(
  name: string,
  install: (folder: string) => Promise<unknown>,
): Promise<string> {
  const { pathname: folder } = new URL(name, CACHE);
  const done = `${folder}/installed`;
  await Deno.mkdir(CACHE, { recursive: true });
  const options = { create: true, write: true };
  using file = await Deno.open(`${folder}.lock`, options);
  await file.lock(true);
  try {
    await Deno.stat(done);
  } catch {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await Deno.mkdir(folder, { recursive: true });
    await install(folder);
    await Deno.writeTextFile(done, "");
  }
  return folder;
}

/** Gives a Python that has a package, such as `mcp==2.3.0`. */
export async function pythonWith(requirement: string): Promise<string> {
  const folder = await cached(`python-${requirement}`, async (folder) => {
    await run(["python3", "-m", "venv", folder]);
    const pip = [`${folder}/bin/pip`, "install", "--quiet"];
    await run([...pip, "--disable-pip-version-check", requirement]);
  });
  return `${folder}/bin/python`;
}

/** Gives the path of a script in `tests/interop/python`. */
export function pythonScript(name: string): string {
  return new URL(`python/${name}`, HERE).pathname;
}

/** Builds the program in `tests/interop/go`. */
export async function goProgram(): Promise<string> {
  const { pathname: cwd } = new URL("go", HERE);
  const { pathname: program } = new URL("go/facts", CACHE);
  await run(["go", "build", "-o", program, "."], { cwd });
  return program;
}
