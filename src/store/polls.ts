/**
 * One poller for all that a process waits for: what is due is read together,
 * the same key once, and less and less often.
 *
 * @module
 */
import { detached } from "../telemetry.ts";

const FIRST_POLL_MILLISECONDS = 20;
const SLOW_POLL_MILLISECONDS = 100;
/** Upper bound of the back-off. */
const SLOWEST_POLL_MILLISECONDS = 2000;
/** What has been waited for so long may wait a twentieth of that again. */
const PATIENCE = 1 / 20;
/** What is due within this share of its pause is read with the others. */
const EARLY = 1 / 4;
/** Keys that are read side by side, so that requests have their turn. */
const KEYS_AT_ONCE = 100;

/** Reads what is under keys; an entry for each, in their order. */
type Read = (
  keys: readonly Deno.KvKey[],
) => Promise<readonly { value: unknown }[]>;

/** What a wait does with what is read. */
export interface Poll<T> {
  onValue(value: T | undefined): void;
  /** A read failed; there will be another. */
  onFailure?(error: unknown): void;
  slowestMilliseconds?: number;
}

interface Waiting extends Poll<unknown> {
  key: Deno.KvKey;
  startedMilliseconds: number;
  pauseMilliseconds: number;
  dueMilliseconds: number;
}

/**
 * How long to wait for the next look, in milliseconds. Polls that go on for an
 * hour must not cost what those of the first seconds do.
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
  #waiting = new Set<Waiting>();
  #timer?: ReturnType<typeof setTimeout>;
  #reading?: Promise<void>;

  /** @param pauseMilliseconds where every pause is the same: watches do the rest */
  constructor(
    private readonly read: Read,
    private readonly pauseMilliseconds?: number,
  ) {}

  /**
   * Reads a key now, and again and again until it is stopped. Stopping waits
   * for a read that is under way.
   */
  start<T>(key: Deno.KvKey, poll: Poll<T>): () => Promise<void> {
    const now = performance.now();
    const waiting: Waiting = {
      onValue: (value) => poll.onValue(value as T | undefined),
      onFailure: poll.onFailure?.bind(poll),
      slowestMilliseconds: poll.slowestMilliseconds,
      key,
      startedMilliseconds: now,
      pauseMilliseconds: FIRST_POLL_MILLISECONDS,
      dueMilliseconds: now,
    };
    this.#waiting.add(waiting);
    this.#schedule();
    return async () => {
      this.#waiting.delete(waiting);
      this.#schedule();
      await this.#reading;
    };
  }

  /** Sets the timer for what is due first. */
  #schedule(): void {
    clearTimeout(this.#timer);
    if (this.#waiting.size === 0 || this.#reading) return;
    let due = Infinity;
    for (const { dueMilliseconds } of this.#waiting) {
      due = Math.min(due, dueMilliseconds);
    }
    const milliseconds = due - performance.now();
    // What is read for all belongs to no one's request.
    detached(() => {
      if (milliseconds <= 0) this.#look();
      else this.#timer = setTimeout(() => this.#look(), milliseconds);
    });
  }

  #look(): void {
    const now = performance.now();
    const due = [...this.#waiting].filter((waiting) =>
      waiting.dueMilliseconds - waiting.pauseMilliseconds * EARLY <= now
    );
    this.#reading = this.#readAll(due).finally(() => {
      this.#reading = undefined;
      this.#schedule();
    });
  }

  async #readAll(due: readonly Waiting[]): Promise<void> {
    const byKey = Map.groupBy(due, ({ key }) => JSON.stringify(key));
    const groups = [...byKey.values()];
    for (let start = 0; start < groups.length; start += KEYS_AT_ONCE) {
      await this.#readSome(groups.slice(start, start + KEYS_AT_ONCE));
    }
  }

  /** Reads one key for each group that waits for it. */
  async #readSome(groups: readonly Waiting[][]): Promise<void> {
    let entries: readonly { value: unknown }[] = [];
    let failure: { error: unknown } | undefined;
    try {
      entries = await this.read(groups.map(([{ key }]) => key));
    } catch (error) {
      failure = { error };
    }
    const now = performance.now();
    for (const [index, group] of groups.entries()) {
      for (const waiting of group) {
        waiting.pauseMilliseconds = this.#pauseAfter(waiting, now);
        waiting.dueMilliseconds = now + waiting.pauseMilliseconds;
        if (!this.#waiting.has(waiting)) continue;
        if (failure) waiting.onFailure?.(failure.error);
        else waiting.onValue(entries[index].value);
      }
    }
  }

  #pauseAfter(
    { pauseMilliseconds, startedMilliseconds, slowestMilliseconds }: Waiting,
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
