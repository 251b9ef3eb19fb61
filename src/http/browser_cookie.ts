/**
 * The cookie that ties a sign-in to the browser it began in. It is a random
 * name and identifies no person.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { randomId } from "../crypto/crypto.ts";
import { APPROVAL_TTL_SECONDS } from "../auth/rules/lifetimes.ts";
import { keepCookie, readCookie } from "./cookie.ts";

const name = "browser";

/** Reads the browser's cookie; undefined if it sends none. */
export function browserOf(c: Context, baseUrl: string): string | undefined {
  return readCookie(c, { name, baseUrl });
}

/** Reads or makes the browser's cookie, and sends it back in either case. */
export function keepBrowser(c: Context, baseUrl: string): string {
  const value = browserOf(c, baseUrl) ?? randomId();
  keepCookie(c, { name, baseUrl }, value, APPROVAL_TTL_SECONDS);
  return value;
}
