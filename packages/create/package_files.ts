/**
 * The package as a project carries it: the files that a release publishes, in
 * `vendor/tool-server/`.
 *
 * @module
 */
import { CreateError } from "./files.ts";
import { PACKAGE, VENDOR } from "./source.ts";

/** The members of a package's `deno.json` that matter here. */
interface Manifest {
  name: string;
  version: string;
  publish: { include: string[]; exclude: string[] };
}

/** Reads the manifest of a clone, or of a copy of it. @throws {CreateError} */
async function readManifest(root: string): Promise<Manifest> {
  const text = await Deno.readTextFile(`${root}/deno.json`).catch(() => "{}");
  const manifest: Partial<Manifest> = JSON.parse(text);
  if (manifest.name === PACKAGE) return manifest as Manifest;
  throw new CreateError(
    `${root} is no clone of ${PACKAGE}: its deno.json must have that name.`,
  );
}

/** True if a release leaves the path out: a pattern has `*` for one name. */
function isExcluded(path: string, { publish }: Manifest): boolean {
  return publish.exclude.some((pattern) => {
    const parts = pattern.split("/");
    const given = path.split("/");
    return given.length >= parts.length &&
      parts.every((part, at) => part === "*" || part === given[at]);
  });
}

async function copy(
  root: string,
  to: string,
  path: string,
  manifest: Manifest,
): Promise<void> {
  if (isExcluded(path, manifest)) return;
  const from = `${root}/${path}`;
  if (!(await Deno.stat(from)).isDirectory) {
    return await Deno.copyFile(from, `${to}/${path}`);
  }
  await Deno.mkdir(`${to}/${path}`, { recursive: true });
  for await (const { name } of Deno.readDir(from)) {
    await copy(root, to, `${path}/${name}`, manifest);
  }
}

/**
 * Puts the package of a clone, or of another project's copy, into a project,
 * and returns its version. A copy that was there before is replaced when the
 * new one is complete.
 *
 * @throws {CreateError} if there is no package at `root`
 */
export async function copyPackage(
  root: string,
  project: string,
): Promise<string> {
  const manifest = await readManifest(root);
  const target = `${project}/${VENDOR}`;
  const [fresh, old] = [`${target}.new`, `${target}.old`];
  const remove = (path: string) =>
    Deno.remove(path, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  // Left behind by an update that was stopped.
  await remove(fresh);
  await Deno.mkdir(fresh, { recursive: true });
  for (const path of manifest.publish.include) {
    await copy(root, fresh, path, manifest);
  }
  await remove(old);
  await Deno.rename(target, old).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.rename(fresh, target);
  await remove(old);
  return manifest.version;
}
