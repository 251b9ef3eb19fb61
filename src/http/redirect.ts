/**
 * Sends a browser on.
 *
 * @module
 */
import type { Context } from "@hono/hono";

/**
 * A redirect that nothing remembers: 303 after a form, 302 otherwise, and
 * never 307, which would send the form along (RFC 9700 §4.12).
 */
export function redirect(c: Context, location: string): Response {
  c.header("Cache-Control", "no-store");
  c.header("Referrer-Policy", "no-referrer");
  // Not c.redirect(): the address stays as it was written.
  c.header("Location", location);
  return c.body(null, c.req.method === "POST" ? 303 : 302);
}
