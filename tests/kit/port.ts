/**
 * Ports that the system picks.
 *
 * @module
 */

/** A port on which no one listens, and which the system never picks. */
export const NO_PORT = 9;

/** Finds a free port, for a server that must know it beforehand. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
