/**
 * A process that ends with its parent, even if the parent is killed and can
 * tell no one: the system then gives the process another parent.
 *
 * @module
 */

/**
 * The argument of a process that was started this way. A parent that knows its
 * own number adds it: `--with-parent=1234`.
 */
export const WITH_PARENT = "--with-parent";

const LOOK_MILLISECONDS = 500;

/** The parent of a process whose flag has no number, read early. */
const firstParent = "Deno" in globalThis ? Deno.ppid : 0;

/**
 * Calls `onEnd` once the parent is gone; never for a process that was started
 * without the flag.
 *
 * @param args the arguments of the process
 */
export function watchParent(
  args: readonly string[],
  onEnd: () => void,
): void {
  const flag = args.find((arg) => arg.split("=")[0] === WITH_PARENT);
  if (flag === undefined) return;
  const parent = Number(flag.split("=")[1] ?? firstParent);
  const looking = setInterval(() => {
    if (Deno.ppid === parent) return;
    clearInterval(looking);
    onEnd();
  }, LOOK_MILLISECONDS);
}
