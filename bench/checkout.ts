/**
 * The files of a commit in their own folder, so that they can be measured next
 * to those of today.
 *
 * @module
 */

const root = new URL("..", import.meta.url).pathname;

/** A commit's files; deleted when disposed of. */
export interface Checkout extends AsyncDisposable {
  /** Its path; ends in a slash. */
  readonly folder: string;
}

/**
 * Lays out the files of a commit.
 *
 * @throws {Error} when the repository does not have it
 */
export async function checkOut(commit: string): Promise<Checkout> {
  const folder = await Deno.makeTempDir();
  const command = new Deno.Command("sh", {
    args: ["-ec", 'git archive "$1" >"$2.tar"; tar -xf "$2.tar" -C "$2"']
      .concat("sh", commit, folder),
    cwd: root,
    stderr: "piped",
  });
  const { success, stderr } = await command.output();
  await Deno.remove(`${folder}.tar`);
  if (!success) {
    await Deno.remove(folder, { recursive: true });
    throw new Error(new TextDecoder().decode(stderr).trim());
  }
  return {
    folder: `${folder}/`,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}
