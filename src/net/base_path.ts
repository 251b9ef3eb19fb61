/**
 * The path of the server's public address.
 *
 * @module
 */

/**
 * Gives the path of a public address without a trailing slash; empty at a root.
 */
export function basePathOf(baseUrl: string): string {
  return new URL(baseUrl).pathname.replace(/\/$/, "");
}
