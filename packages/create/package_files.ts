/**
 * The package as a project contains it: the files that a release publishes, in
 * `vendor/tool-server/`.
 *
 * @module
 */
import { CreateError, replaceFile, reservePath } from "./files.ts";
import { PACKAGE, VENDOR_FOLDER } from "./source.ts";

/** The members of a package's `deno.json` that are read. */
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

/** True for the folder of a clone, which has its own definitions in `src/`. */
export async function isClone(root: string): Promise<boolean> {
  return await readManifest(root).then(() => true, () => false);
}

/**
 * True if a release omits the path. In its patterns, `*` matches one name.
 */
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
 * Copies the package of a clone, or of a project, into a new folder, and
 * returns its version.
 *
 * @throws {CreateError} if there is no package at `root`
 */
export async function copyPackage(root: string, to: string): Promise<string> {
  const manifest = await readManifest(root);
  await Deno.mkdir(to, { recursive: true });
  for (const path of manifest.publish.include) {
    await copy(root, to, path, manifest);
  }
  return manifest.version;
}

/**
 * Replaces the package of a project by the package of a clone, and returns its
 * version. `links` in `deno.json` always names a complete copy, because without
 * one Deno runs nothing in the project. So if an update is stopped, the project
 * still works, and the next update completes it.
 *
 * @throws {CreateError} if there is no package at `clone`, or none in
 * `project`, or another update is running
 */
export async function updatePackage(
  clone: string,
  project: string,
): Promise<string> {
  const [fresh, configuration] = [
    `${VENDOR_FOLDER}.new`,
    `${project}/deno.json`,
  ];
  await using _reserved = await reservePath(configuration);
  const remove = (path: string) =>
    Deno.remove(`${project}/${path}`, { recursive: true }).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  const link = async (path: string, version?: string) => {
    const text = (await Deno.readTextFile(configuration))
      .replaceAll(/"\.\/vendor\/tool-server(\.new)?"/g, `"./${path}"`)
      .replaceAll(
        /(jsr:@tool-server\/tool-server@)[^"/]*/g,
        (all, name) => version === undefined ? all : name + version,
      );
    await replaceFile(configuration, text);
  };
  const settle = async () => {
    await remove(VENDOR_FOLDER);
    await copyPackage(`${project}/${fresh}`, `${project}/${VENDOR_FOLDER}`);
    await link(VENDOR_FOLDER);
    await remove(fresh);
  };
  const text = await Deno.readTextFile(configuration);
  if (text.includes(`"./${fresh}"`)) await settle();
  else if (!text.includes(`"./${VENDOR_FOLDER}"`)) {
    throw new CreateError(
      `deno.json links no ./${VENDOR_FOLDER}: it has the version that is used.`,
    );
  }
  await remove(fresh);
  const version = await copyPackage(clone, `${project}/${fresh}`);
  await link(fresh, version);
  await settle();
  return version;
}
