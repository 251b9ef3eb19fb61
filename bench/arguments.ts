/**
 * The parts that the benchmarks' command lines share.
 *
 * @module
 */

/** Ends the process with a clear line unless the value is a count. */
export function count(option: string, value: string): number {
  const number = Number(value);
  if (Number.isInteger(number) && number > 0) return number;
  console.error(`--${option} is a whole number above 0`);
  Deno.exit(1);
}

/** Chooses items by the beginnings of their names; all for an empty list. */
export function chosen<T extends { name: string }>(
  all: readonly T[],
  list: string,
): T[] {
  const beginnings = list.split(",").filter(Boolean);
  return all.filter(({ name }) =>
    beginnings.length === 0 ||
    beginnings.some((beginning) => name.startsWith(beginning))
  );
}
