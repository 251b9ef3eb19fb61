/**
 * Redirects for browsers.
 *
 * @module
 */
import type { Context } from "@hono/hono";

/**
 * Makes a redirect that is not cached: 303 after a form, 302 otherwise, and
 * never 307, which would send the form along (RFC 9700 §4.12).
 */
export function redirect(c: Context, location: string): Response {
  c.header("Cache-Control", "no-store");
  c.header("Referrer-Policy", "no-referrer");
  // c.redirect() would change the address.
  c.header("Location", location);
  return c.body(null, c.req.method === "POST" ? 303 : 302);
}
