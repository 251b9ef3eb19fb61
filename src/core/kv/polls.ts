/**
 * One poller for all code of a process that waits for keys. Keys are read
 * together, each once, and less often the longer the wait lasts.
 *
 * @module
 */
import { unlessAborted } from "../clock.ts";
import { outsideTrace } from "../telemetry/current.ts";
import { StorageError } from "../errors.ts";

const FIRST_POLL_MILLISECONDS = 20;
const SLOW_POLL_MILLISECONDS = 100;
const MAX_POLL_MILLISECONDS = 2000;
/** The pause before the next poll, as a share of the time waited so far. */
const PATIENCE = 1 / 20;
/**
 * The share of its pause by which a key may be read early, together with
 * others.
 */
const EARLY = 1 / 4;
/**
 * The number of keys that are read together, before other operations get a
 * turn.
 */
const KEYS_AT_ONCE = 100;

/** Reads keys. Returns an entry for each key, in the same order. */
type Read = (
  keys: readonly Deno.KvKey[],
) => Promise<readonly { value: unknown }[]>;

export interface PollOptions {
  /** Called if a read failed. Polling continues. */
  onFailure?(error: unknown): void;
  slowestMilliseconds?: number;
}

export interface Poll<T> extends PollOptions {
  onValue(value: T | undefined): void;
}

interface PolledKey {
  key: Deno.KvKey;
  poll: Poll<unknown>;
  startedMilliseconds: number;
  pauseMilliseconds: number;
  dueMilliseconds: number;
}

/**
 * Computes the pause before the next poll, in milliseconds. A wait of an hour
 * need not be polled as often as one of a few seconds.
 */
export function nextPause(
  pause: number,
  waited: number,
  slowest = MAX_POLL_MILLISECONDS,
): number {
  return Math.max(
    Math.min(SLOW_POLL_MILLISECONDS, pause * 1.5),
    Math.min(slowest, waited * PATIENCE),
  );
}

/** The poller of a process on one database. */
export class Polls {
  #waiting = new Set<PolledKey>();
  #timer?: ReturnType<typeof setTimeout>;
  #reading?: Promise<void>;

  /**
   * @param pauseMilliseconds a constant pause, for a database whose watches
   * report all writes, so that polls are only needed when a watch breaks.
   * Without it, pauses grow
   */
  constructor(
    private readonly read: Read,
    private readonly pauseMilliseconds?: number,
  ) {}

  /**
   * Starts to poll a key. Returns a function that stops polling, and resolves
   * when no read is in progress.
   */
  start<T>(key: Deno.KvKey, poll: Poll<T>): () => Promise<void> {
    const now = performance.now();
    const polled: PolledKey = {
      key,
      poll: poll as Poll<unknown>,
      startedMilliseconds: now,
      pauseMilliseconds: FIRST_POLL_MILLISECONDS,
      dueMilliseconds: now,
    };
    this.#waiting.add(polled);
    this.#schedule();
    return async () => {
      this.#waiting.delete(polled);
      this.#schedule();
      await this.#reading;
    };
  }

  /** Sets the timer for the next due read. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#waiting.size === 0 || this.#reading) return;
    let due = Infinity;
    for (const { dueMilliseconds } of this.#waiting) {
      due = Math.min(due, dueMilliseconds);
    }
    const milliseconds = due - performance.now();
    // A read for several waits belongs to no single trace.
    outsideTrace(() => {
      if (milliseconds <= 0) this.#readDue(due);
      else this.#timer = setTimeout(() => this.#readDue(due), milliseconds);
    });
  }

  /** Reads the keys that are due at `time`. The timer may have fired early. */
  #readDue(time: number): void {
    const now = Math.max(time, performance.now());
    const due = [...this.#waiting].filter((polled) =>
      polled.dueMilliseconds - polled.pauseMilliseconds * EARLY <= now
    );
    this.#reading = this.#readAll(due).finally(() => {
      this.#reading = undefined;
      this.#schedule();
    });
  }

  async #readAll(due: readonly PolledKey[]): Promise<void> {
    const byKey = Map.groupBy(due, ({ key }) => JSON.stringify(key));
    const groups = [...byKey.values()];
    for (let start = 0; start < groups.length; start += KEYS_AT_ONCE) {
      await this.#readSome(groups.slice(start, start + KEYS_AT_ONCE));
    }
  }

  /** Reads one key for each group of waits. */
  async #readSome(groups: readonly PolledKey[][]): Promise<void> {
    let entries: readonly { value: unknown }[] = [];
    let failure: { error: unknown } | undefined;
    try {
      entries = await this.read(groups.map(([{ key }]) => key));
    } catch (error) {
      failure = { error };
    }
    const now = performance.now();
    for (const [index, group] of groups.entries()) {
      for (const polled of group) {
        const { pauseMilliseconds: pause, startedMilliseconds, poll } = polled;
        polled.pauseMilliseconds = this.pauseMilliseconds ??
          nextPause(pause, now - startedMilliseconds, poll.slowestMilliseconds);
        polled.dueMilliseconds = now + polled.pauseMilliseconds;
        if (!this.#waiting.has(polled)) continue;
        if (failure) poll.onFailure?.(failure.error);
        else poll.onValue(entries[index].value);
      }
    }
  }
}

/** The methods of a database that a wait uses. */
interface Waitable {
  poll<T>(key: Deno.KvKey, poll: Poll<T>): () => Promise<void>;
  watch<T>(
    key: Deno.KvKey,
    onValue: (value: T | undefined) => void,
  ): () => Promise<void>;
}

/**
 * Waits until `isWanted` accepts the value under a key, by a watch and by
 * polls. The watch sees writes of this process, and on a remote database also
 * those of other processes. On a shared SQLite file only polls see those. The
 * wait continues while the database does not respond.
 * @see https://github.com/denoland/deno/issues/21640
 * @throws the signal's reason if the signal fires first
 */
export async function waitFor<T>(
  database: Waitable,
  key: Deno.KvKey,
  isWanted: (value: T | undefined) => boolean,
  signal: AbortSignal,
  { slowestMilliseconds, onFailure }: PollOptions = {},
): Promise<T | undefined> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const onValue = (value: T | undefined) => {
    if (isWanted(value)) resolve(value);
  };
  const stops: (() => Promise<void>)[] = [];
  try {
    stops.push(database.watch<T>(key, onValue));
    stops.push(database.poll<T>(key, {
      onValue,
      onFailure(error) {
        if (error instanceof StorageError) onFailure?.(error);
        else reject(error);
      },
      slowestMilliseconds,
    }));
    return await unlessAborted(signal, promise);
  } finally {
    await Promise.all(stops.map((stop) => stop()));
  }
}
