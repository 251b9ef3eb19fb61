/**
 * The fence of a process. A commit that was given up may still be carried out,
 * a minute later. Every commit therefore rests on the absence of a record that
 * is the process's own; once that record is written, no commit that was sent
 * before can happen any more, and what it would have written tells for certain
 * whether it has. From then on the process stands behind another fence.
 *
 * @module
 */
import { randomId } from "../crypto.ts";
import { fenceKey, givenUpKey } from "./keys.ts";
import type { Expiring } from "./record.ts";

/** Far longer than a commit can be on its way. */
const CLOSED_SECONDS = 24 * 60 * 60;
/** Of a transaction, less the fences that it closes. */
const MARKS_PER_COMMIT = 500;

/** Writes records, acknowledged; other records under the same keys do no harm. */
type Save = (records: readonly [Deno.KvKey, Expiring][]) => Promise<unknown>;

/** A try at a commit: what it rests on, and what its records are known by. */
export interface Attempt {
  fence: string;
  mark: string;
}

/** What the commits of a process rest on. */
export class Fence {
  /**
   * Begins all marks of this process, and none of another's. The second in which
   * a mark is made comes next.
   */
  readonly #process = `${randomId(12)}.`;
  #fences = 0;
  #attempts = 0;
  #current = this.#process;
  /** Fences behind which something was given up. */
  readonly #open = new Set<string>();
  /** Marks of what was answered with 503, and may have happened. */
  #owed: string[] = [];
  #settling?: Promise<void>;

  constructor(
    private readonly save: Save,
    private readonly now: () => number,
  ) {}

  /** Whether something was given up since this was last settled. */
  get isDue(): boolean {
    return this.#open.size > 0 || this.#owed.length > 0;
  }

  /** A new try at a commit. */
  begin(): Attempt {
    const second = this.now().toString(36);
    const number = (++this.#attempts).toString(36);
    const mark = `${this.#process}${second}.${number}`;
    return { fence: this.#current, mark };
  }

  /** No one knows whether this try has happened, or is going to. */
  giveUp({ fence }: Attempt): void {
    if (fence !== this.#current) return;
    this.#open.add(fence);
    this.#current = `${this.#process}${++this.#fences}`;
  }

  /** A try ends with 503 although it may have happened. */
  owe({ mark }: Pick<Attempt, "mark">): void {
    this.#owed.push(mark);
  }

  /** Whether a try can no longer be carried out. */
  isClosedTo({ fence }: Attempt): boolean {
    return fence !== this.#current;
  }

  /** Whether a mark is of a commit of this process. */
  isOwn(mark: string): boolean {
    return mark.startsWith(this.#process);
  }

  /**
   * By how many seconds the clock is ahead of ours by which another process
   * wrote a mark; negative: it was written so long ago, or before.
   */
  secondsAhead(mark: string): number {
    if (this.isOwn(mark)) return 0;
    // The marks of version 0.2 have no second.
    return (parseInt(mark.split(".")[1], 36) || 0) - this.now();
  }

  /**
   * Closes the fences behind which something was given up, and writes down what
   * was. All who wait for it share it.
   *
   * @throws {import("../errors.ts").StorageError} while that cannot be done
   */
  async settle(): Promise<void> {
    while (this.isDue) {
      this.#settling ??= this.#settle().finally(() =>
        this.#settling = undefined
      );
      await this.#settling;
    }
  }

  async #settle(): Promise<void> {
    const open = [...this.#open];
    const owed = this.#owed.slice(0, MARKS_PER_COMMIT);
    const closed: Expiring = { expiresAt: this.now() + CLOSED_SECONDS };
    const keys = [...open.map(fenceKey), ...owed.map(givenUpKey)];
    await this.save(keys.map((key) => [key, closed]));
    for (const fence of open) this.#open.delete(fence);
    this.#owed.splice(0, owed.length);
  }
}
