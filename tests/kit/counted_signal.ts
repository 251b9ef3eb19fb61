/**
 * A signal whose listeners are counted.
 *
 * @module
 */

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
