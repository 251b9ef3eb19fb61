/**
 * Things that are made once, in the background, for all who ask.
 *
 * @module
 */

/**
 * Makes a function that makes something when it is first called. All calls share
 * it; after a failure the next call tries again. Also for modules: an `import()`
 * costs as much as the call of a tool.
 */
export function shared<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined;
  return () =>
    making ??= make().catch((error) => {
      making = undefined;
      throw error;
    });
}
