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
 * The client whose connections are reused for up to a second. Servers keep
 * connections open for longer: if a server closed one just when a request is
 * sent, the request would be lost.
 */
let kept: Deno.HttpClient | undefined;

/** The number of this project's servers in this process. */
let servers = 0;

/**
 * Lets {@linkcode sendOnce} reuse connections until the returned function is
 * called. An author's test, which closes its servers, thus leaks no client.
 */
export function reuseConnections(): () => void {
  servers++;
  return () => {
    if (--servers > 0) return;
    kept?.close();
    kept = undefined;
  };
}

/**
 * Sends a request in a way that Deno does not repeat, unless its method is
 * safe. A body is sent as a stream, which cannot be repeated. Without a body,
 * or while no server runs in this process, a new connection is used, because
 * Deno repeats only requests on reused ones.
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
    // A Blob that is not empty is sent with its length, not in chunks.
    if (body.size > 0) init = { ...init, headers, body };
    if (body.size > 0 && servers > 0) {
      kept ??= Deno.createHttpClient({ poolIdleTimeout: 1000 });
      return await fetch(input, { ...init, client: kept });
    }
  }
  using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return await fetch(input, { ...init, client });
};
