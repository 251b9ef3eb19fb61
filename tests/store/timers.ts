/**
 * Timers and signals for tests that wait for neither.
 *
 * @module
 */

/** Timers that begin from now on, with their lengths. */
export class HastyTimers implements Disposable {
  readonly #setTimeout = globalThis.setTimeout;
  readonly milliseconds: number[] = [];

  /** @param hasty the lengths of timers that fire at once; all by default */
  constructor(hasty?: readonly number[]) {
    globalThis.setTimeout = ((act: () => void, milliseconds: number) => {
      this.milliseconds.push(milliseconds);
      const isHasty = hasty?.includes(milliseconds) ?? true;
      return this.#setTimeout(act, isHasty ? 0 : milliseconds);
    }) as typeof setTimeout;
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#setTimeout;
  }
}

/** Makes a signal that counts its listeners. */
export function countedSignal(): {
  abort(reason?: unknown): void;
  signal: AbortSignal;
  listeners(): number;
} {
  const controller = new AbortController();
  const { signal } = controller;
  const listening = new Set<unknown>();
  const add = signal.addEventListener.bind(signal) as typeof addEventListener;
  const remove = signal.removeEventListener.bind(
    signal,
  ) as typeof removeEventListener;
  signal.addEventListener = ((...args: Parameters<typeof add>) => {
    listening.add(args[1]);
    add(...args);
  }) as typeof signal.addEventListener;
  signal.removeEventListener = ((...args: Parameters<typeof remove>) => {
    listening.delete(args[1]);
    remove(...args);
  }) as typeof signal.removeEventListener;
  return {
    abort: (reason) => controller.abort(reason),
    signal,
    listeners: () => listening.size,
  };
}

/** A `performance.now()` that stands still until it is moved forward. */
export class SteadyTime implements Disposable {
  readonly #now = performance.now;
  #milliseconds = 1000;

  constructor() {
    performance.now = () => this.#milliseconds;
  }

  tick(milliseconds: number): void {
    this.#milliseconds += milliseconds;
  }

  [Symbol.dispose](): void {
    performance.now = this.#now;
  }
}
