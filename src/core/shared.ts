/**
 * Values that are made once, asynchronously, and shared.
 *
 * @module
 */

/**
 * Makes a function that calls `make` once and shares the result with all calls.
 * After a failure the next call tries again. Also used for modules, because
 * each `import()` takes as long as a tool call.
 */
export function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () =>
    making ??= make().catch((error) => {
      making = undefined;
      throw error;
    });
}
