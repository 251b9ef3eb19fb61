/**
 * `fetch` without automatic retries. Deno repeats a request if the server
 * closes a reused connection, unless the body is a stream. But the server may
 * already have done what the request asks for.
 * @module
 */

/** True for a safe method, which changes nothing (RFC 9110 §9.2.1). */
export const isSafeMethod = (method = "GET") =>
  /^(GET|HEAD|OPTIONS|QUERY)$/i.test(method);

/**
 * Connections are reused within a second only. Servers keep them open for
 * longer: if a server closed one at that moment, the request would be lost.
 */
const kept = globalThis.Deno?.createHttpClient({ poolIdleTimeout: 1000 });

/**
 * Sends a request. If its method is not safe, it cannot be repeated: its body
 * is a stream; without a body, its connection is new.
 */
export const sendOnce: typeof fetch = async (input, init) => {
  const method = init?.method ??
    (input instanceof Request ? input.method : undefined);
  // Node.js does not repeat requests.
  if (isSafeMethod(method) || !globalThis.Deno) return await fetch(input, init);
  if (init?.body && !(init.body instanceof ReadableStream)) {
    const request = new Request(input, init);
    const body = await request.blob();
    const { headers } = request;
    // The length of a Blob is known, so it is sent without chunks, except if
    // it is empty.
    if (body.size > 0) {
      return await fetch(input, { ...init, headers, body, client: kept! });
    }
  }
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return await fetch(input, { ...init, client });
};
