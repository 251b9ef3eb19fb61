/**
 * Tests of stores, each run three times: in memory, in our own memory database
 * that replaces Deno KV where it is switched off, and with two handles on one
 * file, as two processes would have them. Where `TEST_POSTGRES` has the address
 * of a database, as in `deno task test postgres`, each is run there alone, with
 * two handles too; so it is on a denokv server where `TEST_DENOKV` has the
 * program, and on a file where `TEST_FILE` is set.
 *
 * @module
 */
import assert from "node:assert/strict";
import { isPostgres } from "../../src/core/settings/server.ts";
import { AWAITED_KINDS } from "../../src/core/kv/awaited.ts";
import { Database } from "../../src/core/kv/database.ts";
import { memoryKv } from "../../src/core/kv/memory_kv.ts";
import { ACCESS_TOKEN, Denokv } from "./denokv.ts";
import { atomicWith, kvWith, withShortcuts } from "./kv.ts";
import { TemporaryDirectory } from "./process.ts";

/** `kv` and `other` see the same records; in memory they are one handle. */
type Run = (databases: { kv: Deno.Kv; other: Deno.Kv }) => Promise<void>;

/** The address of a database in Postgres on which all tests are run. */
export const POSTGRES = Deno.env.get("TEST_POSTGRES");

/**
 * Returns the address of the Postgres database, with a schema that no one has
 * used.
 */
export function freshSchema(): string {
  const url = new URL(POSTGRES!);
  const name = crypto.randomUUID().replaceAll("-", "");
  url.searchParams.set("schema", `t_${name}`);
  return url.href;
}

/** A handle that a test closes at its end. */
export type TestKv = Deno.Kv & AsyncDisposable;

/** The address of an empty database, and what it needs until the end. */
interface Place extends AsyncDisposable {
  kvPath: string;
}

/** Makes an empty database of the kind that all tests run on, else in memory. */
async function openPlace(): Promise<Place> {
  const stack = new AsyncDisposableStack();
  const program = Deno.env.get("TEST_DENOKV");
  let kvPath = ":memory:";
  if (POSTGRES) kvPath = freshSchema();
  else if (program) {
    Deno.env.set("DENO_KV_ACCESS_TOKEN", ACCESS_TOKEN);
    kvPath = stack.use(await Denokv.start(program)).url;
  } else if (Deno.env.has("TEST_FILE")) {
    kvPath = `${stack.use(new TemporaryDirectory()).path}/test.db`;
  }
  return {
    kvPath,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Opens an empty database of the kind that all tests run on, else in memory. */
export async function openTestKv(): Promise<TestKv> {
  const place = await openPlace();
  const kv = await openSharedKv(place.kvPath);
  const close = kv[Symbol.asyncDispose].bind(kv);
  return Object.assign(kv, {
    async [Symbol.asyncDispose]() {
      await close();
      await place[Symbol.asyncDispose]();
    },
  });
}

/** Options with which Postgres is opened, as a process does. */
const POSTGRES_OPTIONS = { connections: 4, announced: AWAITED_KINDS };

/** Lets a handle refuse to watch keys that Postgres would not announce. */
function asAnnounced<K extends Deno.Kv>(kv: K): K {
  const watch = kv.watch.bind(kv);
  return Object.assign(kv, {
    watch(...[keys, options]: Parameters<Deno.Kv["watch"]>) {
      const kinds = keys.map(([kind]) => String(kind));
      for (const kind of kinds) {
        assert(AWAITED_KINDS.includes(kind), `not in AWAITED_KINDS: ${kind}`);
      }
      return watch(keys, options);
    },
  });
}

/** Opens the database at a `KV_PATH`, as a process does. */
export async function openSharedKv(kvPath: string): Promise<TestKv> {
  if (isPostgres(kvPath)) {
    const { openPostgres } = await import("../../packages/postgres/mod.ts");
    const kv = await openPostgres(kvPath, POSTGRES_OPTIONS);
    return withShortcuts(kv) as TestKv;
  }
  const kv = asAnnounced(await Deno.openKv(kvPath));
  return Object.assign(kv, {
    [Symbol.asyncDispose]: () => Promise.resolve(kv.close()),
  });
}

/** The sanitizers of a test whose dead processes leave things open. */
type Sanitizing = Pick<
  Deno.TestDefinition,
  "sanitizeOps" | "sanitizeResources"
>;

/** True if all tests run on one kind of database, with two handles. */
const isShared = ["TEST_POSTGRES", "TEST_DENOKV", "TEST_FILE"]
  .some((name) => Deno.env.has(name));

/** Defines a test on a database of its own, of that kind. */
function onShared(name: string, run: Run, options: Sanitizing = {}): void {
  Deno.test(`${name} · shared`, options, async () => {
    await using place = await openPlace();
    await using kv = await openSharedKv(place.kvPath);
    await using other = await openSharedKv(place.kvPath);
    await run({ kv, other });
  });
}

/** Tests on databases of their own. */
export const test = {
  /** Defines a test of one database, in memory. */
  inMemory(name: string, run: Run, options: Sanitizing = {}): void {
    if (isShared) return onShared(name, run, options);
    Deno.test(name, options, async () => {
      using kv = asAnnounced(await Deno.openKv(":memory:"));
      await run({ kv, other: kv });
    });
  },

  /** Defines a test of each kind of database. */
  onDatabases(name: string, run: Run, options: Sanitizing = {}): void {
    if (isShared) return onShared(name, run, options);
    test.inMemory(`${name} · in memory`, run, options);

    Deno.test(`${name} · without Deno KV`, options, async () => {
      using kv = asAnnounced(memoryKv());
      await run({ kv, other: kv });
    });

    Deno.test(`${name} · two handles on a file`, options, async () => {
      await using directory = new TemporaryDirectory();
      using kv = asAnnounced(await Deno.openKv(`${directory.path}/test.db`));
      using other = asAnnounced(await Deno.openKv(`${directory.path}/test.db`));
      await run({ kv, other });
    });
  },
};

/**
 * Runs an action fifty times at once, every other time on `other`, and collects
 * the results.
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
