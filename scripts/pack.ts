/**
 * `deno task pack [FILE]`: makes the npm package. `deno pack` does most of the
 * work. The parts of `package.json` that it leaves out are added here: the
 * names under which the code imports its dependencies, and dependencies that
 * only types need.
 *
 * @module
 */
import { answerHelp } from "../tests/kit/help.ts";
import configuration from "../deno.json" with { type: "json" };

/** Runs a program. @throws {Error} with its output when it fails */
async function run(command: string, ...args: string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args })
    .output();
  const decoder = new TextDecoder();
  if (!success) {
    throw new Error(decoder.decode(stdout) + decoder.decode(stderr));
  }
}

/** Lists the versions of the imports by their names in the code. */
function dependencies(): Record<string, string> {
  const entries = Object.entries(configuration.imports)
    .filter(([name]) => !name.endsWith("/") || !hasBareTwin(name))
    .map(([name, specifier]) => {
      const own = name.replace(/\/$/, "");
      const [, target, version] = /^npm:\/?(.+)@([^@/]+)\/?$/.exec(specifier)!;
      return [own, own === target ? version : `npm:${target}@${version}`];
    });
  return Object.fromEntries(entries);
}

/** True if `zod/` is next to `zod`. */
function hasBareTwin(name: string): boolean {
  return name.replace(/\/$/, "") in configuration.imports;
}

answerHelp();
const output = Deno.args[0] ??
  `tool-server-${configuration.version}.tgz`;
const directory = await Deno.makeTempDir();
try {
  const packed = `${directory}/packed.tgz`;
  await run(
    Deno.execPath(),
    ..."pack --allow-dirty --quiet --output".split(" "),
    packed,
  );
  await run("tar", "-xzf", packed, "-C", directory);
  const path = `${directory}/package/package.json`;
  const manifest = JSON.parse(await Deno.readTextFile(path));
  manifest.dependencies = dependencies();
  manifest.engines = { node: ">=24" };
  await Deno.writeTextFile(path, JSON.stringify(manifest, null, 2) + "\n");
  await run("tar", "-czf", output, "-C", directory, "package");
  console.log(`Made ${output}`);
} finally {
  await Deno.remove(directory, { recursive: true });
}
