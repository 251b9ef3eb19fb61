/**
 * Responds with a page, with the headers of all pages.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import type { JSX } from "@hono/hono/jsx/jsx-runtime";
import type { ContentfulStatusCode } from "@hono/hono/utils/http-status";
import { base64, digest } from "../crypto/crypto.ts";
import {
  CALLBACK_SCRIPT,
  COPY_SCRIPT,
  FRONT_SCRIPT,
  TICK_SCRIPT,
} from "./scripts.ts";
import { STYLE } from "./style.ts";

export interface PageOptions {
  /** HTTP status; 200 by default. */
  status?: number;
  /**
   * The allowed targets of the page's forms; `none` by default. `any` leaves
   * the CSP directive out: Chrome applies `form-action` to every redirect after
   * the submission, and consent ends at `cursor://` or a loopback URL.
   */
  forms?: "none" | "self" | "any";
  /** A script for this page only, besides those of `scripts.ts`. */
  script?: string;
}

const SCRIPTS = [COPY_SCRIPT, CALLBACK_SCRIPT, FRONT_SCRIPT, TICK_SCRIPT]
  .map(cspSource).join(" ");

const POLICY = [
  "default-src 'none'",
  `style-src ${cspSource(STYLE)}`,
  `script-src ${SCRIPTS}`,
  "img-src data:",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * Returns the CSP source that allows exactly this inline text (CSP3 §2.3.1).
 */
export function cspSource(text: string): string {
  return `'sha256-${base64(digest(text))}'`;
}

/**
 * Responds with a page.
 *
 * @example
 * ```ts
 * return page(c, ConsentPage(props), { forms: "any" });
 * ```
 */
export function page(
  c: Context,
  content: JSX.Element,
  { status = 200, forms = "none", script }: PageOptions = {},
): Response {
  const policy = script === undefined
    ? POLICY
    : POLICY.replace(SCRIPTS, `${SCRIPTS} ${cspSource(script)}`);
  c.header(
    "Content-Security-Policy",
    forms === "any" ? policy : `${policy}; form-action '${forms}'`,
  );
  // With `no-referrer`, a browser sends this server's own forms with `Origin:
  // null`.
  const referrer = forms === "none" ? "no-referrer" : "same-origin";
  c.header("Referrer-Policy", referrer);
  c.header("X-Content-Type-Options", "nosniff");
  c.header("Cache-Control", "no-store");
  return c.html(`<!doctype html>${content}`, status as ContentfulStatusCode);
}

/** True if the sender of a request prefers a page to JSON. */
export function prefersPage(c: Context): boolean {
  const accept = c.req.header("accept") ?? "";
  const html = accept.indexOf("text/html");
  const json = accept.indexOf("application/json");
  return html >= 0 && (json < 0 || html < json);
}
