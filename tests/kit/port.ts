/**
 * Ports that the system picks.
 *
 * @module
 */

/** A port that no one has, and that the system gives to no one. */
export const NO_PORT = 9;

/** Finds a free port, for a server that must know it beforehand. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
