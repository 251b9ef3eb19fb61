/**
 * A process that ends with its parent, even if the parent is killed. The parent
 * holds the other end of this process's standard input, which the system then
 * closes.
 *
 * @module
 */

/** The argument of a server that was started this way. */
export const WITH_PARENT = "--with-parent";

/**
 * Calls `onEnd` when the parent is gone; never for a server started on its own.
 */
export async function watchParent(onEnd: () => void): Promise<void> {
  if (!Deno.args.includes(WITH_PARENT)) return;
  const buffer = new Uint8Array(1);
  while (await Deno.stdin.read(buffer) !== null);
  onEnd();
}
