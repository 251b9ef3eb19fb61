/**
 * One poller for all waits of a process: due keys are read together, each key
 * once, and less and less often.
 *
 * @module
 */
import { detached } from "../telemetry/current.ts";

const FIRST_POLL_MILLISECONDS = 20;
const SLOW_POLL_MILLISECONDS = 100;
/** The longest pause between polls, in milliseconds. */
const SLOWEST_POLL_MILLISECONDS = 2000;
/** The pause before the next poll as a share of the time waited so far. */
const PATIENCE = 1 / 20;
/** The share of its pause by which a wait may be read early, with others. */
const EARLY = 1 / 4;
/** The keys that are read at once, so that requests have their turn. */
const KEYS_AT_ONCE = 100;

/** Reads keys; gives an entry for each, in their order. */
type Read = (
  keys: readonly Deno.KvKey[],
) => Promise<readonly { value: unknown }[]>;

/** The callbacks of a wait. */
export interface Poll<T> {
  onValue(value: T | undefined): void;
  /** Called when a read failed; there will be another. */
  onFailure?(error: unknown): void;
  slowestMilliseconds?: number;
}

interface PolledKey extends Poll<unknown> {
  key: Deno.KvKey;
  startedMilliseconds: number;
  pauseMilliseconds: number;
  dueMilliseconds: number;
}

/**
 * Computes the pause before the next poll, in milliseconds. A wait of an hour
 * must not poll as often as one of a few seconds.
 */
export function nextPause(
  pause: number,
  waited: number,
  slowest = SLOWEST_POLL_MILLISECONDS,
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

  /** @param pauseMilliseconds a constant pause, where watches do the rest */
  constructor(
    private readonly read: Read,
    private readonly pauseMilliseconds?: number,
  ) {}

  /**
   * Reads a key now, and again and again until it is stopped. Stopping waits
   * for a read in progress.
   */
  start<T>(key: Deno.KvKey, poll: Poll<T>): () => Promise<void> {
    const now = performance.now();
    const polled: PolledKey = {
      onValue: (value) => poll.onValue(value as T | undefined),
      onFailure: poll.onFailure?.bind(poll),
      slowestMilliseconds: poll.slowestMilliseconds,
      key,
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
    // A read for several waits belongs to no single request's trace.
    detached(() => {
      if (milliseconds <= 0) this.#look();
      else this.#timer = setTimeout(() => this.#look(), milliseconds);
    });
  }

  #look(): void {
    const now = performance.now();
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
        polled.pauseMilliseconds = this.#pauseAfter(polled, now);
        polled.dueMilliseconds = now + polled.pauseMilliseconds;
        if (!this.#waiting.has(polled)) continue;
        if (failure) polled.onFailure?.(failure.error);
        else polled.onValue(entries[index].value);
      }
    }
  }

  #pauseAfter(
    { pauseMilliseconds, startedMilliseconds, slowestMilliseconds }: PolledKey,
    now: number,
  ): number {
    return this.pauseMilliseconds ??
      nextPause(
        pauseMilliseconds,
        now - startedMilliseconds,
        slowestMilliseconds,
      );
  }
}
