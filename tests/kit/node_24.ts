/**
 * A runtime like Node.js 24, in which bytes have no `toBase64`.
 *
 * @module
 */

/** Runs part of a test as in Node.js 24. */
export async function asInNode24(act: () => unknown): Promise<void> {
  const { toBase64 } = Uint8Array.prototype;
  Object.assign(Uint8Array.prototype, { toBase64: undefined });
  try {
    await act();
  } finally {
    Object.defineProperty(Uint8Array.prototype, "toBase64", {
      value: toBase64,
      enumerable: false,
    });
  }
}
