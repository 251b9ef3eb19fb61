/**
 * `fetch` for requests that a server must not get twice. Deno sends a request
 * again if the server closes a connection that was used before, unless the body
 * is a stream: the server may have done what the request asks for.
 *
 * @module
 */

/** True for the method of a request that does nothing (RFC 9110 §9.2.1). */
export const isSafeMethod = (method = "GET") =>
  /^(GET|HEAD|OPTIONS|QUERY)$/i.test(method);

/**
 * Connections that are used again within a second, less than servers keep them
 * open: one that the server closes just then would lose the request.
 */
const kept = globalThis.Deno?.createHttpClient({ poolIdleTimeout: 1000 });

/**
 * Sends a request. If its method is not safe, a body is sent as a stream, and a
 * request without one on a connection of its own.
 */
export const sendOnce: typeof fetch = async (input, init) => {
  const method = init?.method ??
    (input instanceof Request ? input.method : undefined);
  // Node sends no request again.
  if (isSafeMethod(method) || !globalThis.Deno) return await fetch(input, init);
  if (init?.body && !(init.body instanceof ReadableStream)) {
    const request = new Request(input, init);
    const body = await request.blob();
    const { headers } = request;
    // The length of a Blob is known, so that it needs no chunks. An empty one
    // would be sent in chunks.
    if (body.size > 0) {
      return await fetch(input, { ...init, headers, body, client: kept! });
    }
  }
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return await fetch(input, { ...init, client });
};
