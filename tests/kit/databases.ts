/**
 * Tests of stores, each run three times: in memory, in our own memory database
 * that replaces Deno KV where it is switched off, and with two handles on one
 * file, as two processes would have them.
 *
 * @module
 */
import { Database } from "../../src/store/database.ts";
import { memoryKv } from "../../src/store/memory_kv.ts";

/** `kv` and `other` see the same records; in memory they are one handle. */
type Run = (kv: Deno.Kv, other: Deno.Kv) => Promise<void>;

export function testOnDatabases(name: string, run: Run): void {
  Deno.test(`${name} · in memory`, async () => {
    using kv = await Deno.openKv(":memory:");
    await run(kv, kv);
  });

  Deno.test(`${name} · without Deno KV`, async () => {
    using kv = memoryKv();
    await run(kv, kv);
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

/** Runs a test on a database of its own. */
export async function withKv(
  run: (kv: Deno.Kv) => Promise<void>,
): Promise<void> {
  const kv = await Deno.openKv(":memory:");
  try {
    await run(kv);
  } finally {
    kv.close();
  }
}

/** Makes a database that counts its commits. */
export function countedOn(kv: Deno.Kv) {
  const place = { commits: 0 };
  const database = new Database(kv);
  const commit = database.commit.bind(database);
  database.commit = (build) => {
    place.commits++;
    return commit(build);
  };
  return { place, database };
}
