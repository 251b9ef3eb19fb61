/**
 * A reverse proxy that hands every request to the next of several servers: the
 * worst load balancer for a session.
 *
 * @module
 */

/** A proxy that is listening. */
export interface Proxy extends AsyncDisposable {
  /** Origin, without a trailing slash. */
  url: string;
}

/**
 * Serves on a free loopback port and alternates between `targets` (origins).
 * Bodies stream both ways, and a client that leaves is noticed upstream.
 */
export function startProxy(targets: readonly string[]): Proxy {
  let turn = 0;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      const target = targets[turn++ % targets.length];
      try {
        return await fetch(target + pathname + search, {
          method: request.method,
          headers: request.headers,
          body: request.body,
          redirect: "manual",
          signal: request.signal,
        });
      } catch (error) {
        if (request.signal.aborted) return new Response(null, { status: 499 });
        return new Response(String(error), { status: 502 });
      }
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
