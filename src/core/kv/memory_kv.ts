/**
 * Deno KV in memory, for a process that was started without `--unstable-kv`:
 * the part that the stores use. It has the limits of Deno KV, so that code that
 * works with it works with Deno KV, too. Nothing survives the process.
 *
 * @module
 * @see https://docs.deno.com/api/deno/~/Deno.Kv
 */
import { deserialize } from "node:v8";
import type {
  KvCheck,
  KvCommit,
  KvEntry,
  KvEntryMaybe,
  KvKey,
  KvListOptions,
  KvSelector,
} from "./kv.ts";
import { KvClosedError } from "./kv_error.ts";
import {
  checkCommitSize,
  checkKeys,
  checkWrite,
  cloneBytes,
} from "./kv_limits.ts";
import { packKey, selectionOf } from "./memory_key.ts";
import { SortedKeys } from "./sorted_keys.ts";

const SWEEP_MILLISECONDS = 60_000;

interface Row {
  key: KvKey;
  /** Serialized, so that callers and the database share no objects. */
  bytes: Uint8Array;
  versionstamp: string;
  expiresMilliseconds: number;
}

/** A write; without `bytes`, a deletion. */
interface Mutation {
  key: KvKey;
  bytes?: Uint8Array;
  expireIn?: number;
}

interface Watcher {
  notice(written: ReadonlySet<string>): void;
  end(): void;
}

/** Makes an empty database that lasts as long as the process. */
export function memoryKv(): Deno.Kv {
  // The cast is needed because `Deno.Kv` has a private constructor, and queues,
  // which `MemoryKv` lacks.
  return new MemoryKv() as unknown as Deno.Kv;
}

class MemoryKv {
  #rows = new Map<string, Row>();
  #names = new SortedKeys();
  #commits = 0;
  #isClosed = false;
  #sweptMilliseconds = performance.now();
  #watchers = new Set<Watcher>();

  // deno-lint-ignore require-await -- a refusal must be a rejection
  async get(key: KvKey): Promise<KvEntryMaybe> {
    this.#checkOpen();
    return this.#read(key);
  }

  // deno-lint-ignore require-await -- a refusal must be a rejection
  async getMany(
    keys: readonly KvKey[],
  ): Promise<KvEntryMaybe[]> {
    this.#checkOpen();
    checkKeys(keys);
    return keys.map((key) => this.#read(key));
  }

  set(key: KvKey, value: unknown, options?: { expireIn?: number }) {
    return this.atomic().set(key, value, options).commit();
  }

  async delete(key: KvKey): Promise<void> {
    await this.atomic().delete(key).commit();
  }

  /** Lists the records of a prefix or a range in the order of their keys. */
  async *list(
    selector: KvSelector,
    { limit = Infinity }: KvListOptions = {},
  ): AsyncGenerator<KvEntry> {
    this.#checkOpen();
    const { start, isBefore, isIn } = selectionOf(selector);
    const rows: Row[] = [];
    for (const name of this.#names.from(start)) {
      if (rows.length >= limit || !isBefore(name)) break;
      const row = isIn(name) ? this.#alive(name) : undefined;
      if (row) rows.push(row);
    }
    yield* rows.map(print);
  }

  atomic() {
    const checked: KvCheck[] = [];
    const mutations: Mutation[] = [];
    return {
      check(...checks: readonly KvCheck[]) {
        checked.push(...checks);
        return this;
      },
      set(
        key: KvKey,
        value: unknown,
        { expireIn }: { expireIn?: number } = {},
      ) {
        mutations.push({ key, bytes: cloneBytes(value), expireIn });
        return this;
      },
      delete(key: KvKey) {
        mutations.push({ key });
        return this;
      },
      // deno-lint-ignore require-await -- a refusal must be a rejection
      commit: async () => this.#commit(checked, mutations),
    };
  }

  /**
   * Streams the present entries first, then the newest ones after each change.
   */
  watch(
    keys: readonly KvKey[],
  ): ReadableStream<KvEntryMaybe[]> {
    this.#checkOpen();
    checkKeys(keys);
    const names = keys.map(packKey);
    let isStale = true;
    let watcher: Watcher;
    const emit = (
      controller: ReadableStreamDefaultController<KvEntryMaybe[]>,
    ) => {
      if (!isStale || controller.desiredSize! <= 0) return;
      isStale = false;
      controller.enqueue(keys.map((key) => this.#read(key)));
    };
    return new ReadableStream({
      start: (controller) => {
        watcher = {
          notice(written) {
            isStale ||= names.some((name) => written.has(name));
            emit(controller);
          },
          end: () => controller.close(),
        };
        this.#watchers.add(watcher);
      },
      pull: emit,
      cancel: () => {
        this.#watchers.delete(watcher);
      },
    });
  }

  close(): void {
    this.#checkOpen();
    this.#isClosed = true;
    for (const watcher of this.#watchers) watcher.end();
  }

  [Symbol.dispose](): void {
    if (!this.#isClosed) this.close();
  }

  #read(key: KvKey): KvEntryMaybe {
    const row = this.#alive(packKey(key));
    return row ? print(row) : { key, value: null, versionstamp: null };
  }

  #alive(name: string): Row | undefined {
    const row = this.#rows.get(name);
    return row && row.expiresMilliseconds > Date.now() ? row : undefined;
  }

  #commit(
    checks: readonly KvCheck[],
    mutations: readonly Mutation[],
  ): KvCommit {
    this.#checkOpen();
    checkCommitSize(checks, mutations);
    const rows = mutations.map((mutation) => newRow(mutation));
    for (const { key, versionstamp } of checks) {
      if (this.#read(key).versionstamp !== versionstamp) return { ok: false };
    }
    const count = (++this.#commits).toString(16);
    const versionstamp = `${count.padStart(16, "0")}0000`;
    for (const [name, row] of rows) {
      if (row) {
        if (!this.#rows.has(name)) this.#names.add(name);
        this.#rows.set(name, { ...row, versionstamp });
      } else this.#drop(name);
    }
    this.#sweep();
    const written = new Set(rows.map(([name]) => name));
    for (const watcher of this.#watchers) watcher.notice(written);
    return { ok: true, versionstamp };
  }

  /**
   * Deletes expired rows now and then, without a timer that would outlive the
   * database.
   */
  #sweep(): void {
    const passed = performance.now() - this.#sweptMilliseconds;
    if (passed < SWEEP_MILLISECONDS) return;
    this.#sweptMilliseconds += passed;
    const now = Date.now();
    for (const [name, { expiresMilliseconds }] of this.#rows) {
      if (expiresMilliseconds <= now) this.#drop(name);
    }
  }

  #drop(name: string): void {
    if (this.#rows.delete(name)) this.#names.delete(name);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new KvClosedError("The database is closed");
  }
}

function newRow(
  { key, bytes, expireIn = Infinity }: Mutation,
): [name: string, row?: Omit<Row, "versionstamp">] {
  const name = packKey(key);
  if (!bytes) return [name];
  checkWrite(bytes, expireIn);
  return [name, { key, bytes, expiresMilliseconds: Date.now() + expireIn }];
}

function print({ key, bytes, versionstamp }: Row): KvEntry {
  return { key, value: deserialize(bytes), versionstamp };
}
