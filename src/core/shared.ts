/**
 * Things that are made once, in the background, for all who ask.
 *
 * @module
 */

/**
 * Makes a function that makes something when it is first called. All calls share
 * it; after a failure the next call tries again. For modules too: `import()` in
 * each call of a tool costs as much as the call.
 */
export function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () =>
    making ??= make().catch((error) => {
      making = undefined;
      throw error;
    });
}
