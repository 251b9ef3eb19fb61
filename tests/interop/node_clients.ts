/**
 * Clients that are programs of their own and need a newer Node than may be
 * installed. They are put into a directory, together with the Node they need.
 *
 * @module
 */

const PACKAGES = [
  "node@24.9.0",
  "@modelcontextprotocol/inspector@2.12.0",
  "mcp-remote@0.15.1",
  "mcporter@0.12.3",
];

/** Programs from npm, ready to be run. */
export interface NodeClients extends AsyncDisposable {
  /** The environment that finds them, with a home of their own. */
  env: Record<string, string>;
  /** Runs one to its end and gives what it printed. */
  run(program: string, args: readonly string[]): Promise<string>;
}

/** True if npm is there to install them. */
export async function hasNpm(): Promise<boolean> {
  try {
    const npm = new Deno.Command("npm", { args: ["--version"] });
    return (await npm.output()).success;
  } catch {
    return false;
  }
}

/** Installs the clients into a directory that is removed with them. */
export async function installNodeClients(): Promise<NodeClients> {
  const directory = await Deno.makeTempDir({ prefix: "node-clients-" });
  const env = {
    HOME: directory,
    PATH: `${directory}/node_modules/.bin:${Deno.env.get("PATH")}`,
  };
  const run = async (program: string, args: readonly string[]) => {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd: directory,
      env,
      stdin: "null",
    }).output();
    const decoder = new TextDecoder();
    const printed = decoder.decode(stdout);
    if (success) return printed;
    throw new Error(`${program}: ${printed}${decoder.decode(stderr)}`);
  };
  const npm = new Deno.Command("npm", {
    args: ["install", "--no-audit", "--no-fund", "--prefix", directory]
      .concat(PACKAGES),
    stdin: "null",
  });
  const { success, stderr } = await npm.output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return {
    env,
    run,
    [Symbol.asyncDispose]: () => Deno.remove(directory, { recursive: true }),
  };
}
