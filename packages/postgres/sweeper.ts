/**
 * Deletes expired records in batches, in every process.
 *
 * @module
 */
import { clearTimeout, setTimeout } from "node:timers";

/**
 * The minimum pause between two sweeps. Up to half of it is added at random, so
 * that processes do not sweep at the same time.
 */
const PAUSE_MILLISECONDS = 40_000;
/**
 * The maximum number of rows of one statement, because commits wait for the
 * disk meanwhile.
 */
const MAX_ROWS = 500;
/** The pause between two statements. */
const BREATH_MILLISECONDS = 20;

/** Sweeps from time to time, until it is stopped. */
export class Sweeper {
  #timer?: ReturnType<typeof setTimeout>;
  #isOver = false;

  /** @param sweep deletes at most `most` rows, and returns their number */
  constructor(private readonly sweep: (most: number) => Promise<number>) {
    this.#rest();
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #rest(): void {
    const milliseconds = PAUSE_MILLISECONDS * (1 + Math.random() / 2);
    this.#after(milliseconds, () => this.#run());
  }

  async #run(): Promise<void> {
    try {
      const deleted = await this.sweep(MAX_ROWS);
      if (deleted === MAX_ROWS) {
        return this.#after(BREATH_MILLISECONDS, () => this.#run());
      }
    } catch {
      // The database is away, or about to close: the next sweep deletes these
      // rows.
    }
    this.#rest();
  }

  #after(milliseconds: number, run: () => void): void {
    if (this.#isOver) return;
    this.#timer = setTimeout(run, milliseconds);
    this.#timer.unref();
  }
}
