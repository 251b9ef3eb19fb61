/**
 * A database in Postgres that fulfils the contract of the server.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { clearInterval, setInterval } from "node:timers";
import { deserialize } from "node:v8";
import type {
  Kv,
  KvAtomic,
  KvCommit,
  KvEntry,
  KvEntryMaybe,
  KvKey,
  KvListOptions,
  KvSelector,
} from "../../src/core/kv/kv.ts";
import { KvClosedError, KvUsageError } from "../../src/core/kv/kv_error.ts";
import { checkKeys } from "../../src/core/kv/kv_limits.ts";
import { Atomic, printVersion } from "./atomic.ts";
import type { Connections, Row, Statement } from "./driver.ts";
import { failureOf, type PostgresError } from "./failure.ts";
import { REPLACED_CODE } from "./layout.ts";
import type { Listener } from "./listener.ts";
import { packBytes, packRange, unpackKey } from "./packed_key.ts";
import { type Statements, statementsOn } from "./statements.ts";
import { Sweeper } from "./sweeper.ts";
import { Watchers } from "./watchers.ts";

/** The maximum number of records of one round trip of a list. */
const MAX_BATCH = 500;

interface PostgresParts {
  connections: Connections;
  listener: Listener;
  schema: string;
  /** The database, without its password. */
  place: string;
  /** True if changes of the key are announced to other processes. */
  isAnnounced(key: KvKey): boolean;
}

/** A handle on a database in Postgres. */
export class PostgresKv implements Kv, AsyncDisposable {
  readonly #parts: PostgresParts;
  readonly #statements: Statements;
  readonly #watchers: Watchers;
  readonly #sweeper: Sweeper;
  /** The identity of the tables that were first seen. Undefined before that. */
  #identity?: string;
  /** The error of every operation once the tables were replaced. */
  #lost?: Error;
  #closing?: Promise<unknown>;

  /** Made by `openPostgres()`. */
  constructor(parts: PostgresParts) {
    this.#parts = parts;
    this.#statements = statementsOn(parts.schema);
    this.#watchers = new Watchers((keys) => this.getMany(keys));
    this.#sweeper = new Sweeper((most) => this.sweep(most));
    parts.listener.onChange = (hash) => this.#watchers.notice(hash);
    parts.listener.onBack = () => this.#watchers.noticeAll();
  }

  /** The address without user and password. */
  get place(): string {
    return this.#parts.place;
  }

  /** True unless a pooler stops the notifications to this process. */
  get isRemote(): boolean {
    return this.#parts.listener.hears;
  }

  /**
   * Sends a notification on the channel of this schema.
   *
   * @throws {Error} of the driver
   */
  async announce(payload: string): Promise<void> {
    const { connections } = this.#parts;
    this.#see(await connections.query(this.#statements.announce(payload)));
  }

  /**
   * Rejects if the tables were replaced since the start, and makes every later
   * operation reject too, because caches have records of the old tables.
   */
  async checkPlace(): Promise<void> {
    this.#see(await this.#query(this.#statements.identity()));
  }

  /** Reads a key. */
  async get(key: KvKey): Promise<KvEntryMaybe> {
    const [row] = await this.#query(this.#statements.get(packBytes(key)));
    return entryOf(key, row);
  }

  /** Reads at most ten keys. */
  async getMany(keys: readonly KvKey[]): Promise<KvEntryMaybe[]> {
    checkKeys(keys);
    const packed = keys.map(packBytes);
    const rows = await this.#query(this.#statements.getMany(packed));
    return keys.map((key, index) => entryOf(key, rows[index]));
  }

  /** Lists records in the order of keys. */
  async *list(
    selector: KvSelector,
    { limit = Infinity, batchSize = MAX_BATCH }: KvListOptions = {},
  ): AsyncGenerator<KvEntry> {
    const range = packRange(selector);
    for (let left = limit; left > 0;) {
      const most = Math.min(left, batchSize, MAX_BATCH);
      const statement = this.#statements.list(range.start, range.end, most);
      const rows = await this.#query(statement);
      for (const row of rows) {
        yield entryOf(unpackKey(row.key as Buffer), row) as KvEntry;
      }
      if (rows.length < most) return;
      left -= rows.length;
      range.start = after(rows.at(-1)!.key as Buffer);
    }
  }

  /** Begins a commit. */
  atomic(): KvAtomic {
    return new Atomic(async ({ values, announced }): Promise<KvCommit> => {
      const [tables] = this.#identity!.split(" ");
      const statement = this.#statements.commit(...values, tables);
      const [row] = await this.#query(statement);
      const version = row.version as string | null;
      if (version === null) return { ok: false };
      // Without notifications, this process tells its own watches about its
      // changes.
      if (!this.isRemote) this.#noticeAll(announced);
      return { ok: true, versionstamp: printVersion(version) };
    }, this.#parts.isAnnounced);
  }

  /** Watches at most ten keys. */
  watch(keys: readonly KvKey[]): ReadableStream<KvEntryMaybe[]> {
    this.#checkOpen();
    if (!keys.every((key) => this.#parts.isAnnounced(key))) {
      throw new KvUsageError("Nothing announces the changes of these keys");
    }
    return this.#watchers.watch(keys);
  }

  /** Deletes some expired records, and returns their number. */
  async sweep(most: number): Promise<number> {
    const rows = await this.#query(this.#statements.sweep(most));
    this.#see(rows);
    return rows[0].deleted as number;
  }

  /**
   * Counts the other processes that have the database open, except those that
   * get no notifications because of a pooler.
   */
  async countOthers(): Promise<number> {
    const [row] = await this.#query(this.#statements.users());
    return row.count as number - (this.isRemote ? 1 : 0);
  }

  /** Closes the handle. Each connection ends after its response. */
  close(): void {
    if (this.#closing) throw closed();
    this.#sweeper.stop();
    this.#watchers.end();
    const { connections, listener } = this.#parts;
    this.#closing = Promise.allSettled([
      connections.close(),
      listener.close(),
    ]);
  }

  /** Closes the handle, if it is open, and waits for its connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#closing) this.close();
    // Idle connections keep no process alive, so this timer does until they
    // end.
    const waiting = setInterval(() => {}, 1000);
    await this.#closing;
    clearInterval(waiting);
  }

  /** @throws {PostgresError} if the tables were replaced */
  #see([{ identity }]: Row[]): void {
    this.#identity ??= identity as string;
    if (identity === this.#identity) return;
    this.#lost = failureOf(
      { code: REPLACED_CODE, message: "" },
      this.#parts.place,
    );
    throw this.#lost;
  }

  async #query(statement: Statement): Promise<Row[]> {
    this.#checkOpen();
    try {
      return await this.#parts.connections.query(statement);
    } catch (error) {
      this.#checkOpen();
      const failure = failureOf(error, this.#parts.place);
      if ((failure as PostgresError).code === REPLACED_CODE) {
        this.#lost = failure;
      }
      throw failure;
    }
  }

  #noticeAll(hashes: Iterable<string>): void {
    for (const hash of hashes) this.#watchers.notice(hash);
  }

  #checkOpen(): void {
    if (this.#closing) throw closed();
    if (this.#lost) throw this.#lost;
  }
}

function closed(): KvClosedError {
  return new KvClosedError("The database is closed");
}

/**
 * Makes the entry of a key from its row. Without a row or value, the entry has
 * no value.
 */
function entryOf(key: KvKey, row?: Row): KvEntryMaybe {
  const bytes = row?.value as Buffer | null | undefined;
  if (!bytes) return { key, value: null, versionstamp: null };
  return {
    key,
    // The first byte is the format. So far there is only one.
    value: deserialize(bytes.subarray(1)),
    versionstamp: printVersion(row!.version as string),
  };
}

/** Returns the first key after a packed key. */
function after(packed: Buffer): Buffer {
  return Buffer.concat([packed, Buffer.of(0)]);
}
