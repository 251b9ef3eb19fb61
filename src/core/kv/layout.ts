/**
 * The layout of the database: the form of its keys and records, as a number
 * that the database stores. Releases with the same number can read each other's
 * records. A database with another number is neither read nor written.
 * @module
 */
import { StorageError } from "../errors.ts";
import { StartError } from "../settings/complaint.ts";
import { absent, type Database } from "./database.ts";
import {
  grantKey,
  layoutKey,
  movingKey,
  secretKey,
  sessionKey,
} from "./keys.ts";
import type { Kv } from "./kv.ts";

/**
 * The number of this code's layout. Raise it, also in
 * `packages/operate/restore.ts`, if the last release cannot read new records,
 * or this one cannot read old ones. `tests/trips/layout_test.ts` notices such a
 * change.
 */
export const LAYOUT = 5;

/**
 * Checks the layout. A database that no server has used yet gets this layout's
 * number.
 *
 * @throws {StartError} if the database has another layout, or records are being
 * moved to it
 */
export async function checkLayout(kv: Kv): Promise<void> {
  for (let hasRecords = false;;) {
    const [{ value: number }, { value: isMoving }] = await kv.getMany([
      layoutKey(),
      movingKey(),
    ]);
    if (isMoving) throw refused("half of a move", "a whole database");
    if (number !== null || hasRecords) return checkNumber(number);
    // An empty database gets a number. If there are records, the number is read
    // again, because a process that has started meanwhile writes the number
    // before any record.
    hasRecords = await isUsed(kv);
    if (hasRecords) continue;
    const { ok } = await kv.atomic().check(absent(layoutKey()))
      .set(layoutKey(), LAYOUT).commit();
    if (ok) return;
  }
}

/**
 * Checks the layout without writing.
 *
 * @throws {StartError} if the database has another layout, or no number
 */
export async function requireLayout(kv: Kv): Promise<void> {
  checkNumber((await kv.get(layoutKey())).value);
}

function checkNumber(number: unknown): void {
  if (number === LAYOUT) return;
  throw refused(number === null ? "no layout" : `layout ${number}`);
}

/**
 * True if a server has used a database. An application's own records do not
 * count.
 */
async function isUsed(kv: Kv): Promise<boolean> {
  for (const [kind] of [sessionKey(""), grantKey(""), secretKey("")]) {
    for await (const _ of kv.list({ prefix: [kind] }, { limit: 1 })) {
      return true;
    }
  }
  return false;
}

function refused(got: string, wants = `layout ${LAYOUT}`): StartError {
  return new StartError({
    variable: "The database",
    got,
    wants: `${wants}; nothing was changed`,
    fix: "Use the release that it is of, or an empty database: another file, " +
      "server or schema in KV_PATH. Deno's default database stays when its " +
      "folder is removed",
  });
}

/**
 * Wraps a database so that it returns and writes nothing before its layout was
 * checked. The first reads are sent before the check ends, but their results
 * wait for it. Until a check succeeds, each operation starts a check of its
 * own, so that a check that hangs blocks only one operation.
 */
export function checkedKv(kv: Kv): Kv {
  let isChecked = false;
  async function check(): Promise<void> {
    if (isChecked) return;
    await checkLayout(kv);
    isChecked = true;
  }
  async function beside<T>(reading: Promise<T>): Promise<T> {
    const [read] = await Promise.all([reading, check()]);
    return read;
  }
  async function* after<T>(list: () => AsyncIterable<T>): AsyncGenerator<T> {
    await check();
    yield* list();
  }
  return {
    isRemote: kv.isRemote,
    checkPlace: kv.checkPlace?.bind(kv),
    get: (key) => isChecked ? kv.get(key) : beside(kv.get(key)),
    getMany: (keys) => isChecked ? kv.getMany(keys) : beside(kv.getMany(keys)),
    list: (...how) =>
      isChecked ? kv.list(...how) : after(() => kv.list(...how)),
    atomic() {
      const atomic = kv.atomic();
      if (isChecked) return atomic;
      const { commit } = atomic;
      atomic.commit = async () => {
        await check();
        return await commit.call(atomic);
      };
      return atomic;
    },
    watch: (keys) => kv.watch(keys),
    close: () => kv.close(),
  };
}

/**
 * Checks the layout at a start, by a read through {@linkcode checkedKv}. If the
 * database does not respond, later operations check.
 *
 * @throws {StartError} if the database has another layout
 */
export async function checkLayoutOf(database: Database): Promise<void> {
  try {
    await database.get(layoutKey());
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    if (error.cause instanceof StartError) throw error.cause;
  }
}
