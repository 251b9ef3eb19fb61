/**
 * The files of this repository.
 *
 * @module
 */

/** Lists a file, or all files below a folder, by their names. */
export async function* filesBelow(path: string): AsyncGenerator<string> {
  const { isFile } = await Deno.stat(path);
  if (isFile) {
    yield path;
    return;
  }
  const entries = await Array.fromAsync(Deno.readDir(path));
  for (const { name } of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    yield* filesBelow(`${path}/${name}`);
  }
}
