/**
 * What code does with timers and signals, for tests that wait for neither.
 *
 * @module
 */

/** Timers that begin from now on, and how long they are. */
export class HastyTimers implements Disposable {
  readonly #setTimeout = globalThis.setTimeout;
  readonly milliseconds: number[] = [];

  /** @param hasty how long those are that are over at once; all by default */
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

/** A signal that counts who listens to it. */
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

/** `performance.now()` stands still until it is turned forward. */
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
