/**
 * The answer to a request of an author's code, bounded in bytes and in time.
 *
 * @module
 */

/** The most bytes of an answer that a tool reads, unless it says otherwise. */
export const MAX_TOOL_ANSWER_BYTES = 10 * 1024 * 1024;

/** The seconds in which some of an answer must come while it is read. */
const STALL_SECONDS = 60;

/**
 * Bounds the body of a response to this server, decoded, and the time in which
 * nothing of it comes. Nothing is read before it is asked for.
 *
 * @param refuse makes the error that the reader then gets
 * @throws {TypeError} for a bound that is none
 */
export function bounded(
  response: Response,
  most: number,
  refuse: (description: string) => Error,
): Response {
  const { body, status, statusText, headers, url, redirected } = response;
  if (body === null) return response;
  const reader = body.getReader();
  let left = most;
  const end = (description: string) => {
    const error = refuse(description);
    reader.cancel(error).catch(() => {});
    return error;
  };
  const bytes = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const timer = setTimeout(
        () => controller.error(end(`nothing more for ${STALL_SECONDS} s`)),
        STALL_SECONDS * 1000,
      );
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        left -= value.byteLength;
        if (left < 0) throw end(`more than ${most} bytes`);
        controller.enqueue(value);
      } finally {
        clearTimeout(timer);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  }, { highWaterMark: 0 });
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
