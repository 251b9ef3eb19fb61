/**
 * The answer to a request of an author's code, bounded in bytes and in time.
 *
 * @module
 */

/** The most bytes of an answer that a tool reads, unless it says otherwise. */
export const MAX_TOOL_ANSWER_BYTES = 10 * 1024 * 1024;

/** The seconds in which some of an answer must come while it is read. */
const STALL_SECONDS = 60;

/** The memory of an answer, which counts until it is released. */
export interface Hold {
  /** @throws if there is too much in this process, or of a caller */
  add(bytes: number): void;
  release(): void;
}

/** The counting of the answers to a request, which may be sent twice. */
export interface Held {
  hold?: () => Hold;
}

/** The holds of answers of which a tool has read a part, and kept nothing. */
const dropped = new FinalizationRegistry((hold: Hold) => hold.release());

/**
 * Bounds the body of a response to this server, decoded, and the time in which
 * nothing of it comes. Nothing is read before it is asked for.
 *
 * @param refuse makes the error that the reader then gets
 * @param hold counts what has come, until the reader has it all or gives up
 * @throws {TypeError} for a bound that is none
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

/** Checks the bound that an author has set. @throws {TypeError} */
export function checkBound(maxBytes: unknown, of: string): void {
  if (typeof maxBytes === "number" && maxBytes > 0) return;
  throw new TypeError(`${of}: maxBytes must be a number above 0`);
}
