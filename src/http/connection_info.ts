/**
 * Where a request came from.
 *
 * @module
 */

/** Where a request came from, as `Deno.serve` tells its handler. */
export interface ConnectionInfo {
  /** The peer of the connection; its host is who is rate limited. */
  remoteAddr?: { hostname?: string };
}
