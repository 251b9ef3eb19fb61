/**
 * Bounds the response to a request of an author's code, in bytes and in time.
 *
 * @module
 */

/**
 * The maximum size in bytes of a response that a tool reads; the default of
 * `maxBytes`.
 */
export const MAX_TOOL_ANSWER_BYTES = 10 * 1024 * 1024;

/** The seconds within which more bytes must come while a response is read. */
const STALL_SECONDS = 60;

/** The memory of a response, which is counted until it is released. */
export interface Hold {
  /** @throws if this process, or a caller, holds too many bytes already */
  add(bytes: number): void;
  release(): void;
}

/** The options that the engine sets for a request of an author's code. */
export interface Held {
  /**
   * Counts the responses to a request; there are two if the request is sent
   * twice.
   */
  hold?: () => Hold;
  /** True if the request does nothing there; by default by its method. */
  isSafe?: boolean;
}

/**
 * Releases the memory of responses that a tool has read in part, and then
 * dropped.
 */
const dropped = new FinalizationRegistry((hold: Hold) => hold.release());

/**
 * Bounds the bytes of a response's decoded body, and the time in which none of
 * them comes. Nothing is read before the reader asks for it.
 *
 * @param refuse makes the error that the reader then gets
 * @param hold counts what has come, until the reader has read all or stops
 */
export function bounded(
  response: Response,
  most: number,
  refuse: (description: string) => Error,
  hold?: Hold,
): Response {
  const { body, status, statusText, headers, url, redirected } = response;
  if (body === null) return response;
  const reader = body.getReader();
  let left = most;
  const end = (error: Error) => {
    hold?.release();
    reader.cancel(error).catch(() => {});
    return error;
  };
  const bytes = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const timer = setTimeout(
        () =>
          controller.error(end(refuse(`nothing more for ${STALL_SECONDS} s`))),
        STALL_SECONDS * 1000,
      );
      try {
        const { done, value } = await reader.read();
        if (done) {
          hold?.release();
          return controller.close();
        }
        left -= value.byteLength;
        if (left < 0) throw refuse(`more than ${most} bytes`);
        hold?.add(value.byteLength);
        controller.enqueue(value);
      } catch (error) {
        throw end(error as Error);
      } finally {
        clearTimeout(timer);
      }
    },
    async cancel(reason) {
      hold?.release();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  if (hold) dropped.register(bytes, hold);
  const own = new Response(bytes, { status, statusText, headers });
  return Object.defineProperties(own, {
    url: { value: url },
    redirected: { value: redirected },
  });
}

/** Checks the `maxBytes` of an author. @throws {TypeError} */
export function checkBound(maxBytes: unknown, of: string): void {
  if (typeof maxBytes === "number" && maxBytes > 0) return;
  throw new TypeError(`${of}: maxBytes must be a number above 0`);
}
