/**
 * Reads a request's body, short or long.
 *
 * @module
 */
import { bodyNotArrived } from "./body_bytes.ts";

/**
 * The maximum size of a body that is read in one step. Deno allocates
 * `Content-Length` bytes before the first byte arrives, and keeps them until
 * the client disconnects.
 */
const MAX_WHOLE_BYTES = 8 * 1024;

/**
 * Reads a body.
 *
 * @param sender returns the sender's name; called for a long body, which counts
 * against the limit on arriving bodies
 * @throws {HttpError} 413 as soon as there are more than `most` bytes; 400 if
 * there are too many chunks, or the body does not arrive completely
 */
export async function readBytes(
  request: Request,
  most: number,
  sender = () => "",
): Promise<Uint8Array> {
  const length = Number(request.headers.get("content-length") ?? Infinity);
  if (!(length <= Math.min(most, MAX_WHOLE_BYTES))) {
    const { BoundedBody } = await import("./bounded_body.ts");
    const { stream } = new BoundedBody(request, { sender }, most);
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }
  try {
    // Deno's server reads no more than `Content-Length`. @hono/node-server has
    // no `bytes()`.
    return new Uint8Array(await request.arrayBuffer());
  } catch (cause) {
    throw bodyNotArrived(cause);
  }
}
