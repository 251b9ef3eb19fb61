/**
 * A test of a store runs twice: in memory, and with two handles on one file,
 * as two processes would have them.
 *
 * @module
 */

/** `kv` and `other` see the same records; in memory they are one handle. */
type Run = (kv: Deno.Kv, other: Deno.Kv) => Promise<void>;

export function testOnDatabases(name: string, run: Run): void {
  Deno.test(`${name} · in memory`, async () => {
    const kv = await Deno.openKv(":memory:");
    try {
      await run(kv, kv);
    } finally {
      kv.close();
    }
  });

  Deno.test(`${name} · two handles on a file`, async () => {
    const directory = await Deno.makeTempDir();
    const path = `${directory}/test.db`;
    const kv = await Deno.openKv(path);
    const other = await Deno.openKv(path);
    try {
      await run(kv, other);
    } finally {
      kv.close();
      other.close();
      await Deno.remove(directory, { recursive: true });
    }
  });
}

/** What each of fifty gave, all started at once, every other on `other`. */
export function fiftyAtOnce<S, T>(
  kv: Deno.Kv,
  other: Deno.Kv,
  store: (kv: Deno.Kv) => S,
  act: (store: S, index: number) => Promise<T>,
): Promise<T[]> {
  const stores = [store(kv), store(other)];
  return Promise.all(
    Array.from({ length: 50 }, (_, index) => act(stores[index % 2], index)),
  );
}
