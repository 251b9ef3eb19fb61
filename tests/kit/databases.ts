/**
 * Tests of stores, each run three times: in memory, in our own memory database
 * that replaces Deno KV where it is switched off, and with two handles on one
 * file, as two processes would have them.
 *
 * @module
 */
import { Database } from "../../src/store/database.ts";
import { memoryKv } from "../../src/store/memory_kv.ts";
import { atomicWith, kvWith } from "./kv.ts";
import { TemporaryDirectory } from "./process.ts";

/** `kv` and `other` see the same records; in memory they are one handle. */
type Run = (databases: { kv: Deno.Kv; other: Deno.Kv }) => Promise<void>;

/** Tests on databases of their own. */
export const test = {
  /** Defines a test of one database, in memory. */
  inMemory(name: string, run: Run): void {
    Deno.test(name, async () => {
      using kv = await Deno.openKv(":memory:");
      await run({ kv, other: kv });
    });
  },

  /** Defines a test of each kind of database. */
  onDatabases(name: string, run: Run): void {
    test.inMemory(`${name} · in memory`, run);

    Deno.test(`${name} · without Deno KV`, async () => {
      using kv = memoryKv();
      await run({ kv, other: kv });
    });

    Deno.test(`${name} · two handles on a file`, async () => {
      await using directory = new TemporaryDirectory();
      using kv = await Deno.openKv(`${directory.path}/test.db`);
      using other = await Deno.openKv(`${directory.path}/test.db`);
      await run({ kv, other });
    });
  },
};

/**
 * Collects the results of fifty, all started at once, every other one on
 * `other`.
 */
export function fiftyAtOnce<S, T>(
  kv: Deno.Kv,
  other: Deno.Kv,
  store: (database: Database) => S,
  act: (store: S, index: number) => Promise<T>,
): Promise<T[]> {
  const stores = [store(new Database(kv)), store(new Database(other))];
  return Promise.all(
    Array.from({ length: 50 }, (_, index) => act(stores[index % 2], index)),
  );
}

/** Makes a database that counts its commits. */
export function countedOn(
  kv: Deno.Kv,
  options?: ConstructorParameters<typeof Database>[1],
) {
  const place = { commits: 0 };
  const counted = kvWith(kv, {
    atomic: atomicWith(kv, (commit) => {
      place.commits++;
      return commit();
    }),
  });
  return { place, database: new Database(counted, options) };
}
