/**
 * A process that ends with the one that started it, even if that one is killed
 * and can tell no one: it holds the other end of this one's standard input,
 * which the system then closes.
 *
 * @module
 */

/** Says to a server that it was started this way. */
export const WITH_PARENT = "--with-parent";

/** Tells when the parent is gone; never, of a server started on its own. */
export async function watchParent(onEnd: () => void): Promise<void> {
  if (!Deno.args.includes(WITH_PARENT)) return;
  const buffer = new Uint8Array(1);
  while (await Deno.stdin.read(buffer) !== null);
  onEnd();
}
