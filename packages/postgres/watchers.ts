/**
 * The watches of a process, on one connection. A notification of a change makes
 * the watches of its key read again.
 *
 * @module
 */
import type { KvEntryMaybe, KvKey } from "../../src/core/kv/kv.ts";
import { checkKeys } from "../../src/core/kv/kv_limits.ts";
import { keyHash } from "./atomic.ts";
import { packBytes } from "./packed_key.ts";

type Controller = ReadableStreamDefaultController<KvEntryMaybe[]>;

class Watch {
  readonly hashes: ReadonlySet<string>;
  #isStale = true;
  #isReading = false;

  constructor(
    keys: readonly KvKey[],
    private readonly read: () => Promise<KvEntryMaybe[]>,
    private readonly controller: Controller,
  ) {
    this.hashes = new Set(keys.map((key) => String(keyHash(packBytes(key)))));
  }

  /**
   * Marks the watch as stale, because a key may have changed, and reads again.
   */
  notice(): void {
    this.#isStale = true;
    this.emit();
  }

  /**
   * Reads the watched keys if they may have changed and the reader of the
   * stream is ready for more.
   */
  async emit(): Promise<void> {
    const { controller } = this;
    if (!this.#isStale || this.#isReading || controller.desiredSize! <= 0) {
      return;
    }
    this.#isStale = false;
    this.#isReading = true;
    try {
      controller.enqueue(await this.read());
    } catch {
      // The next change, or the next connection, makes the watch read again. A
      // stream that has ended is ready for nothing.
      this.#isStale = true;
      return;
    } finally {
      this.#isReading = false;
    }
    await this.emit();
  }

  end(): void {
    this.controller.close();
  }
}

/** All watches of a process. */
export class Watchers {
  readonly #watches = new Set<Watch>();
  readonly #byHash = new Map<string, Set<Watch>>();

  /** @param read reads at most ten keys */
  constructor(
    private readonly read: (keys: readonly KvKey[]) => Promise<KvEntryMaybe[]>,
  ) {}

  /** Streams the present entries of keys, then the newest after a change. */
  watch(keys: readonly KvKey[]): ReadableStream<KvEntryMaybe[]> {
    checkKeys(keys);
    let watch: Watch;
    return new ReadableStream<KvEntryMaybe[]>({
      start: (controller) => {
        watch = new Watch(keys, () => this.read(keys), controller);
        this.#add(watch);
      },
      pull: () => {
        // `emit` is not awaited, because it waits for ever while nothing
        // changes.
        watch.emit();
      },
      cancel: () => this.#remove(watch),
    });
  }

  /** Marks the watches of a key as stale, by its hash. */
  notice(hash: string): void {
    for (const watch of this.#byHash.get(hash) ?? []) watch.notice();
  }

  /** Marks all watches as stale, because changes may have been missed. */
  noticeAll(): void {
    for (const watch of this.#watches) watch.notice();
  }

  end(): void {
    for (const watch of this.#watches) watch.end();
  }

  #add(watch: Watch): void {
    this.#watches.add(watch);
    for (const hash of watch.hashes) {
      const watches = this.#byHash.get(hash) ?? new Set();
      this.#byHash.set(hash, watches.add(watch));
    }
  }

  #remove(watch: Watch): void {
    this.#watches.delete(watch);
    for (const hash of watch.hashes) {
      const watches = this.#byHash.get(hash);
      watches?.delete(watch);
      if (watches?.size === 0) this.#byHash.delete(hash);
    }
  }
}
