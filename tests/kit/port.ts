/**
 * Ports that the system picks.
 *
 * @module
 */

/** Finds a free port, for a server that must know it beforehand. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
