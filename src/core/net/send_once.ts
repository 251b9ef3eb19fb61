/**
 * `fetch` for requests that a server must not get twice. Deno sends a request
 * again if the server closes a connection that was used before: the server may
 * have done what the request asks for.
 *
 * @module
 */

/** True for the method of a request that does nothing (RFC 9110 §9.2.1). */
export const isSafeMethod = (method = "GET") =>
  /^(GET|HEAD|OPTIONS|QUERY)$/i.test(method);

/** Sends a request, on a connection of its own unless its method is safe. */
export const sendOnce: typeof fetch = async (input, init) => {
  const method = init?.method ??
    (input instanceof Request ? input.method : undefined);
  if (isSafeMethod(method)) return await fetch(input, init);
  // Node sends no request again.
  using client = globalThis.Deno?.createHttpClient({ poolMaxIdlePerHost: 0 });
  return await fetch(input, { ...init, client: client! });
};
