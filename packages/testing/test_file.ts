/**
 * Files for the services of a test.
 *
 * @module
 */

/** A file for a test, which does not exist yet. `await using` removes it. */
export interface TestFile extends AsyncDisposable {
  /** The path of the file, in a folder of its own in `data/`. */
  readonly path: string;
}

/**
 * Makes a path for a file that a service opens, if `:memory:` is not enough:
 * after `crash()` of a task, the services start again in another process. It is
 * in `data/`, which the tests of a project may write to.
 *
 * @example
 * ```ts ignore
 * await using file = await testFile();
 * const env = { NOTES_KV: file.path };
 * await using server = await testServer({ ...options, env });
 * ```
 */
export async function testFile(name = "test.kv"): Promise<TestFile> {
  const folder = `data/test-${crypto.randomUUID()}`;
  await Deno.mkdir(folder, { recursive: true });
  return {
    path: `${folder}/${name}`,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}
