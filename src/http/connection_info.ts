/**
 * Where a request came from.
 *
 * @module
 */

/** Where a request came from, as `Deno.serve` tells its handler. */
export interface ConnectionInfo {
  remoteAddr?: { hostname?: string };
}
