/**
 * The bytes of a body whose length was not announced.
 *
 * @module
 * @see RFC 9112 §7.1, Chunked Transfer Coding
 */
import { HttpError } from "../errors.ts";

/**
 * The most chunks of a body: each costs as much as a call, however small it is.
 */
const MOST_CHUNKS = 10_000;

/**
 * Reads a body as it arrives, without `for await`, which would cost a call as
 * much as the rest of it.
 *
 * @throws {HttpError} 413 as soon as there are more than `most` bytes, 400 when
 * they come in too many chunks
 */
export async function readBytes(
  { body }: Pick<Request, "body">,
  most: number,
): Promise<Uint8Array> {
  let bytes = new Uint8Array(0);
  let size = 0;
  const reader = body?.getReader();
  for (let chunks = 1; reader; chunks++) {
    const { value: chunk, done } = await reader.read();
    if (done) break;
    const end = size + chunk.length;
    if (end > most || chunks > MOST_CHUNKS) {
      await reader.cancel();
      throw end > most ? tooLarge(most) : tooManyChunks();
    }
    if (end > bytes.length) bytes = enlarged(bytes, end);
    // Copied at once, because Deno keeps 64 KiB for a chunk of one byte.
    bytes.set(chunk, size);
    size = end;
  }
  return bytes.subarray(0, size);
}

/**
 * Enlarges a buffer to at least `least` bytes, and at least to twice its size.
 */
function enlarged(bytes: Uint8Array, least: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(least, 2 * bytes.length));
  larger.set(bytes);
  return larger;
}

/** Makes the refusal of a body with too many bytes. */
export function tooLarge(most: number): HttpError {
  return new HttpError(413, `The body must have at most ${most} bytes`);
}

function tooManyChunks(): HttpError {
  return new HttpError(
    400,
    `The body must come in at most ${MOST_CHUNKS} chunks`,
  );
}
