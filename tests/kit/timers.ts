/**
 * Timers that fire when a test says so.
 *
 * @module
 */
import { settled } from "./wait.ts";

/** Lets timers that begin from now on fire at once. */
export class HastyTimers implements Disposable {
  readonly #setTimeout = globalThis.setTimeout;

  /** @param hasty the lengths of timers that fire at once; all by default */
  constructor(hasty?: readonly number[]) {
    globalThis.setTimeout = ((act: () => void, milliseconds: number) => {
      const isHasty = hasty?.includes(milliseconds) ?? true;
      return this.#setTimeout(act, isHasty ? 0 : milliseconds);
    }) as typeof setTimeout;
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#setTimeout;
  }
}

/** Replaces `setInterval` until it is disposed of. */
export class Timers implements Disposable {
  readonly running = new Map<number, () => void>();
  /** The length of each interval that was started. */
  readonly milliseconds: number[] = [];
  readonly #real = { setInterval, clearInterval };

  constructor() {
    Object.assign(globalThis, {
      setInterval: (beat: () => void, milliseconds: number) => {
        const id = this.milliseconds.push(milliseconds);
        this.running.set(id, beat);
        return id;
      },
      clearInterval: (id: number) => this.running.delete(id),
    });
  }

  /**
   * Fires each interval, or those of one length, and waits for the
   * consequences.
   */
  async beat(milliseconds?: number): Promise<void> {
    for (const [id, beat] of this.running) {
      const length = this.milliseconds[id - 1];
      if (milliseconds === undefined || milliseconds === length) beat();
    }
    await settled();
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, this.#real);
  }
}
