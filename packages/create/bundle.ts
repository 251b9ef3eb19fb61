/**
 * The bundle of a server in `dist/`, which starts faster than the sources. It
 * includes the permissions, which become the `deno.json` of a release. In
 * `dist/` that file has another name: otherwise Deno would resolve its paths
 * against that folder.
 *
 * @module
 */
import { CreateError } from "./files.ts";

const FOLDER = "dist";

/**
 * Bundles `main.ts`. With `postgres`, bundles only the package that a server
 * loads if `KV_PATH` is a `postgres://` URL, into the same folder.
 *
 * @throws {CreateError} with the bundler's message
 */
export async function bundle({ postgres }: { postgres: boolean }) {
  if (postgres) {
    await Deno.mkdir(FOLDER, { recursive: true });
    // The bundler accepts a file, but no import specifier that it would have to
    // resolve.
    const entry = `${FOLDER}/postgres.ts`;
    const url = import.meta.resolve("../postgres/mod.ts");
    await Deno.writeTextFile(entry, `export * from "${url}";\n`);
    await run("-o", `${FOLDER}/postgres_package.js`, entry);
    return;
  }
  await Deno.remove(FOLDER, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await run("--code-splitting", "--outdir", FOLDER, "main.ts");
  const { unstable, permissions } = JSON.parse(
    await Deno.readTextFile("deno.json"),
  );
  await Deno.writeTextFile(
    `${FOLDER}/permissions.json`,
    JSON.stringify({ unstable, permissions }, null, 2) + "\n",
  );
}

async function run(...args: string[]): Promise<void> {
  const { protocol, host } = new URL(import.meta.url);
  const imports = protocol === "file:" ? [] : [`--allow-import=${host},jsr.io`];
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", ...imports, ...args],
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn().status;
  if (!success) throw new CreateError("It cannot be bundled.");
}
