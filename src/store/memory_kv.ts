/**
 * Deno KV in memory, for a process that was started without `--unstable-kv`:
 * the part that the stores use, with the limits of the real one, so that code
 * that works here works there. Nothing survives the process.
 *
 * @module
 * @see https://docs.deno.com/api/deno/~/Deno.Kv
 */
import { deserialize, serialize } from "node:v8";
import { packKey } from "./memory_key.ts";

const MAX_VALUE_BYTES = 65_536;
const MAX_KEYS = 10;
const MAX_CHECKS = 100;
const MAX_MUTATIONS = 1000;
const SWEEP_MILLISECONDS = 60_000;

type Selector = { prefix: Deno.KvKey } | { start: Deno.KvKey; end: Deno.KvKey };

interface Row {
  key: Deno.KvKey;
  /** Serialized, so that no one shares an object with the database. */
  bytes: Uint8Array;
  versionstamp: string;
  expiresMilliseconds: number;
}

/** A mutation: without `bytes`, the key is deleted. */
interface Mutation {
  key: Deno.KvKey;
  bytes?: Uint8Array;
  expireIn?: number;
}

interface Watcher {
  notice(written: ReadonlySet<string>): void;
  end(): void;
}

/** Makes an empty database that lasts as long as the process. */
export function memoryKv(): Deno.Kv {
  // The class has a private constructor and queues, which are not used here.
  return new MemoryKv() as unknown as Deno.Kv;
}

class MemoryKv {
  #rows = new Map<string, Row>();
  #commits = 0;
  #isClosed = false;
  #sweptMilliseconds = Date.now();
  #watchers = new Set<Watcher>();

  // deno-lint-ignore require-await -- a refusal must be a rejection
  async get(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<unknown>> {
    this.#checkOpen();
    return this.#read(key);
  }

  // deno-lint-ignore require-await -- a refusal must be a rejection
  async getMany(
    keys: readonly Deno.KvKey[],
  ): Promise<Deno.KvEntryMaybe<unknown>[]> {
    this.#checkOpen();
    checkCount(keys, MAX_KEYS, "ranges");
    return keys.map((key) => this.#read(key));
  }

  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }) {
    return this.atomic().set(key, value, options).commit();
  }

  async delete(key: Deno.KvKey): Promise<void> {
    await this.atomic().delete(key).commit();
  }

  /** In the order of keys; by prefix, or from a start to an end. */
  async *list(
    selector: Selector,
    { limit = Infinity, reverse = false }: Deno.KvListOptions = {},
  ): AsyncGenerator<Deno.KvEntry<unknown>> {
    this.#checkOpen();
    const names = this.#rows.keys().toArray().filter(inSelection(selector))
      .sort();
    if (reverse) names.reverse();
    const rows = names.flatMap((name) => this.#alive(name) ?? []);
    yield* rows.slice(0, limit).map(print);
  }

  atomic() {
    const checked: Deno.AtomicCheck[] = [];
    const mutations: Mutation[] = [];
    return {
      check(...checks: readonly Deno.AtomicCheck[]) {
        checked.push(...checks);
        return this;
      },
      set(
        key: Deno.KvKey,
        value: unknown,
        { expireIn }: { expireIn?: number } = {},
      ) {
        mutations.push({ key, bytes: serialize(value), expireIn });
        return this;
      },
      delete(key: Deno.KvKey) {
        mutations.push({ key });
        return this;
      },
      // deno-lint-ignore require-await -- a refusal must be a rejection
      commit: async () => this.#commit(checked, mutations),
    };
  }

  /** Gives the present state first, then the newest one after each change. */
  watch(
    keys: readonly Deno.KvKey[],
  ): ReadableStream<Deno.KvEntryMaybe<unknown>[]> {
    this.#checkOpen();
    checkCount(keys, MAX_KEYS, "keys");
    const names = keys.map(packKey);
    let isStale = true;
    let watcher: Watcher;
    const emit = (
      controller: ReadableStreamDefaultController<Deno.KvEntryMaybe<unknown>[]>,
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

  #read(key: Deno.KvKey): Deno.KvEntryMaybe<unknown> {
    const row = this.#alive(packKey(key));
    return row ? print(row) : { key, value: null, versionstamp: null };
  }

  #alive(name: string): Row | undefined {
    const row = this.#rows.get(name);
    return row && row.expiresMilliseconds > Date.now() ? row : undefined;
  }

  #commit(
    checks: readonly Deno.AtomicCheck[],
    mutations: readonly Mutation[],
  ): Deno.KvCommitResult | Deno.KvCommitError {
    this.#checkOpen();
    checkCount(checks, MAX_CHECKS, "checks");
    checkCount(mutations, MAX_MUTATIONS, "mutations");
    const rows = mutations.map((mutation) => newRow(mutation));
    for (const { key, versionstamp } of checks) {
      if (this.#read(key).versionstamp !== versionstamp) return { ok: false };
    }
    const count = (++this.#commits).toString(16);
    const versionstamp = `${count.padStart(16, "0")}0000`;
    for (const [name, row] of rows) {
      if (row) this.#rows.set(name, { ...row, versionstamp });
      else this.#rows.delete(name);
    }
    this.#sweep();
    const written = new Set(rows.map(([name]) => name));
    for (const watcher of this.#watchers) watcher.notice(written);
    return { ok: true, versionstamp };
  }

  /** Drops expired rows, without a timer that would outlive its owner. */
  #sweep(): void {
    const now = Date.now();
    if (now - this.#sweptMilliseconds < SWEEP_MILLISECONDS) return;
    this.#sweptMilliseconds = now;
    for (const [name, { expiresMilliseconds }] of this.#rows) {
      if (expiresMilliseconds <= now) this.#rows.delete(name);
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new BadResource("Bad resource ID");
  }
}

/** A test whether a packed key is selected. */
function inSelection(selector: Selector): (name: string) => boolean {
  if ("start" in selector) {
    const [start, end] = [packKey(selector.start), packKey(selector.end)];
    return (name) => start <= name && name < end;
  }
  const start = packKey(selector.prefix);
  // 0xff continues an escaped zero: the part is longer than the prefix's.
  return (name) =>
    name.startsWith(start) && name !== start && name[start.length] !== "\xff";
}

/** Deno's error for a closed database. */
class BadResource extends Error {
  override name = "BadResource";
}

function newRow(
  { key, bytes, expireIn = Infinity }: Mutation,
): [name: string, row?: Omit<Row, "versionstamp">] {
  const name = packKey(key);
  if (!bytes) return [name];
  if (bytes.byteLength > MAX_VALUE_BYTES) {
    throw new TypeError(`Value too large (max ${MAX_VALUE_BYTES} bytes)`);
  }
  if (!(expireIn >= 0)) {
    throw new TypeError("expireIn must be a non-negative number");
  }
  return [name, { key, bytes, expiresMilliseconds: Date.now() + expireIn }];
}

function print({ key, bytes, versionstamp }: Row): Deno.KvEntry<unknown> {
  return { key, value: deserialize(bytes), versionstamp };
}

function checkCount(items: readonly unknown[], most: number, what: string) {
  if (items.length > most) {
    throw new TypeError(`Too many ${what} (max ${most})`);
  }
}
