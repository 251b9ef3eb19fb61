/**
 * Moving all records of one database to another: a file, a denokv server, the
 * database of an app on Deno Deploy, or Postgres.
 *
 * @module
 */
import { isDeepStrictEqual } from "node:util";
import { type Clock, now } from "../clock.ts";
import type { Kv, KvAtomic, KvEntry, KvEntryMaybe } from "./kv.ts";
import { movingKey } from "./keys.ts";
import { cloneBytes } from "./kv_limits.ts";
import { requireLayout } from "./layout.ts";
import { untilUnlocked } from "./operations.ts";
import { isExpiring } from "./reader.ts";
import { expireIn } from "./database.ts";

const MAX_RECORDS = 500;
/** The maximum size of one commit. Deno KV takes 800 KiB, keys included. */
const MAX_BYTES = 500_000;
/** The assumed size of a record's key. */
const KEY_BYTES = 500;
/**
 * Records that expire within this time are not compared, because they may be
 * deleted meanwhile.
 */
const SOON_SECONDS = 60 * 60;

/** A move of records that was refused or failed. */
export class MoveError extends Error {
  override name = "MoveError";
}

/** The number and size of the records whose keys begin with the same word. */
export interface KindCount {
  kind: string;
  records: number;
  /** The size of the values. */
  bytes: number;
}

/**
 * Counts what a move would write, by kind.
 *
 * @throws {import("../settings/complaint.ts").StartError} if `from` has another layout
 */
export async function countKinds(from: Kv, clock: Clock): Promise<KindCount[]> {
  await requireLayout(from);
  const counts = new Map<string, KindCount>();
  for await (const { key, value } of liveRecords(from, now(clock))) {
    const kind = String(key[0]);
    const before = counts.get(kind) ?? { kind, records: 0, bytes: 0 };
    counts.set(kind, {
      kind,
      records: before.records + 1,
      bytes: before.bytes + cloneBytes(value).byteLength,
    });
  }
  return [...counts.values()];
}

/**
 * Copies all records that are not expired, then compares the databases record
 * by record. Records that an earlier move left in `target` are deleted first.
 * @param onProgress called with the number of records written so far
 * @returns the number of records
 * @throws {MoveError} if `target` has other records, or the databases differ
 * @throws {import("../settings/complaint.ts").StartError} if `source` has
 * another layout
 */
export async function moveRecords(
  source: Kv,
  target: Kv,
  { clock, onProgress = () => {} }: {
    clock: Clock;
    onProgress?: (records: number) => void;
  },
): Promise<number> {
  await requireLayout(source);
  const write = await claim(target);
  await empty(target, write);
  const records = await copy(source, write, { clock, onProgress });
  await compare(source, target, now(clock) + SOON_SECONDS);
  await write((operation) => operation.delete(movingKey()));
  return records;
}

/** Commits the writes that `build` adds, or throws. */
type Write = (build: (operation: KvAtomic) => unknown) => Promise<void>;

/**
 * Marks a database as the target of this move.
 *
 * @returns a function that commits as long as no other move to the database has
 * begun
 * @throws {MoveError} if the database has records that no move has written
 */
async function claim(target: Kv): Promise<Write> {
  for (;;) {
    const found = await checkMoveTarget(target);
    const marked = await untilUnlocked(() =>
      target.atomic().check(found).set(movingKey(), true).commit()
    );
    if (!marked.ok) continue;
    const { versionstamp } = marked;
    return async (build) => {
      const { ok } = await untilUnlocked(() => {
        const operation = target.atomic()
          .check({ key: movingKey(), versionstamp });
        build(operation);
        return operation.commit();
      });
      if (!ok) throw new MoveError("Another move to this database has begun");
    };
  }
}

export async function isEmpty(kv: Kv): Promise<boolean> {
  for await (const _ of kv.list({ prefix: [] }, { limit: 1 })) return false;
  return true;
}

/**
 * Checks that a database can be the target of a move. Returns the mark of an
 * earlier move there, if any.
 * @throws {MoveError} if the database has records that no move has written
 */
export async function checkMoveTarget(target: Kv): Promise<KvEntryMaybe> {
  const mark = await untilUnlocked(() => target.get(movingKey()));
  if (mark.value) return mark;
  for await (const { key } of target.list({ prefix: [] }, { limit: 1 })) {
    throw new MoveError(
      `The database to move to has records (${
        String(key[0])
      }): use an empty one, which is another file, server or schema`,
    );
  }
  return mark;
}

/** Deletes all records except the mark of the move. */
async function empty(target: Kv, write: Write): Promise<void> {
  const marked = movingKey()[0];
  for (;;) {
    const some = await Array.fromAsync(
      target.list({ prefix: [] }, { limit: MAX_RECORDS }),
    );
    const left = some.filter(({ key }) => key[0] !== marked);
    if (left.length === 0) return;
    await write((operation) => {
      for (const { key } of left) operation.delete(key);
    });
  }
}

async function copy(
  source: Kv,
  commit: Write,
  { clock, onProgress }: {
    clock: Clock;
    onProgress: (records: number) => void;
  },
): Promise<number> {
  let records = 0;
  let batch: KvEntry[] = [];
  let bytes = 0;
  const write = async () => {
    await commit((operation) => {
      for (const { key, value } of batch) {
        operation.set(key, value, {
          expireIn: isExpiring(value) ? expireIn(value, clock) : undefined,
        });
      }
    });
    onProgress(records += batch.length);
    [batch, bytes] = [[], 0];
  };
  for await (const entry of liveRecords(source, now(clock))) {
    const size = cloneBytes(entry.value).byteLength + KEY_BYTES;
    if (batch.length === MAX_RECORDS || bytes + size > MAX_BYTES) await write();
    batch.push(entry);
    bytes += size;
  }
  if (batch.length > 0) await write();
  return records;
}

/**
 * @throws {MoveError} if the databases differ in records that do not expire
 * soon
 */
async function compare(source: Kv, target: Kv, time: number): Promise<void> {
  const [a, b] = [source, target].map((kv) => liveRecords(kv, time));
  for (;;) {
    const [{ value: one }, { value: other }] = await Promise.all([
      a.next(),
      b.next(),
    ]);
    const isSame = isDeepStrictEqual(
      [one?.key, one?.value],
      [other?.key, other?.value],
    );
    if (isSame && !one) return;
    if (isSame) continue;
    await Promise.all([a.return(undefined), b.return(undefined)]);
    throw new MoveError(
      "The databases differ: stop every server of both, and move again",
    );
  }
}

/** Yields the records that are not expired at `time`, in epoch seconds. */
async function* liveRecords(kv: Kv, time: number): AsyncGenerator<KvEntry> {
  for await (const entry of kv.list({ prefix: [] }, { batchSize: 500 })) {
    const { key, value } = entry;
    if (key[0] === movingKey()[0]) continue;
    if (isExpiring(value) && value.expiresAt <= time) continue;
    yield entry;
  }
}
