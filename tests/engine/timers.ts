/**
 * Intervals that beat when they are told.
 *
 * @module
 */

/** Takes the place of `setInterval` until it is disposed of. */
export class Timers implements Disposable {
  readonly running = new Map<number, () => void>();
  /** How long each interval is that was begun. */
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

  /** One beat of each, or of those of one length, and what follows from it. */
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

/** When all that was to follow at once has followed. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
