/**
 * Waiting for what will happen, without guessing how long that takes.
 *
 * @module
 */

/** The time since the start, also in tests with a clock of their own. */
const steadyNow = performance.now.bind(performance);

/**
 * Waits for a promise; a failure names the test that waits.
 *
 * @throws {Error} when it takes longer
 */
export async function within<T>(
  seconds: number,
  promise: Promise<T>,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`Nothing within ${seconds} s`)),
    seconds * 1000,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits until a condition holds, without guessing how long that takes. The
 * limit only ends a wait that would never end: a busy machine stalls for
 * seconds.
 */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = steadyNow() + 60_000;
  while (!await isTrue()) {
    if (steadyNow() > deadline) {
      throw new Error("It did not come to pass");
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Resolves when everything that follows immediately has happened. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
