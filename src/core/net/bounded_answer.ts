/**
 * Limits on the response to a tool's `fetch`: bytes and time.
 *
 * @module
 */
import { unlessAborted, within } from "../clock.ts";

/** The maximum bytes of a response to a tool; the default of `maxBytes`. */
export const MAX_TOOL_ANSWER_BYTES = 10 * 1024 * 1024;

/** The seconds after which a response without further bytes is aborted. */
const STALL_SECONDS = 60;

/** The memory of one response, counted until `release`. */
export interface ResponseMemory {
  /** @throws if this process, or the caller, already holds too many bytes */
  add(bytes: number): void;
  release(): void;
}

/** Options of a tool's request that the server sets. */
export interface ToolFetchOptions {
  /**
   * Starts to count the memory of a response; called twice if the request is
   * sent twice.
   */
  hold?: () => ResponseMemory;
  /**
   * True if the request changes nothing at its server. By default the method
   * decides.
   */
  isSafe?: boolean;
}

/**
 * Releases the memory of responses that a tool dropped without reading them.
 */
const dropped = new FinalizationRegistry((hold: ResponseMemory) =>
  hold.release()
);

/**
 * Limits the bytes of a response's decoded body, and the time between them.
 * Reads nothing before its reader does.
 * @param refuse makes the error for the reader
 * @param hold counts the bytes until the reader has read all or stops
 * @param signal the request's signal. It ends the body here, because the
 * runtime may forget it once the response's headers have arrived
 */
export function boundedResponse(
  response: Response,
  most: number,
  refuse: (description: string) => Error,
  hold?: ResponseMemory,
  signal?: AbortSignal | null,
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
      try {
        const { done, value } = await within(
          STALL_SECONDS * 1000,
          unlessAborted(signal, reader.read()),
          () => {
            throw refuse(`nothing more for ${STALL_SECONDS} s`);
          },
        );
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

/**
 * Checks an author's `maxBytes`.
 *
 * @throws {TypeError}
 */
export function checkMaxBytes(maxBytes: unknown, of: string): void {
  if (typeof maxBytes === "number" && maxBytes > 0) return;
  throw new TypeError(`${of}: maxBytes must be a number above 0`);
}
