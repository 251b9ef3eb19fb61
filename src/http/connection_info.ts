/**
 * The connection of a request.
 *
 * @module
 */

/** The connection of a request, as `Deno.serve` passes it to its handler. */
export interface ConnectionInfo {
  /** The peer of the connection; rate limits count by its host. */
  remoteAddr?: { hostname?: string };
}
