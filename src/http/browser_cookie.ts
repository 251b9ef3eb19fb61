/**
 * The cookie that ties a sign-in to the browser it began in. It is a random
 * name and knows nobody.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { getCookie, setCookie } from "@hono/hono/cookie";
import { randomId } from "../crypto.ts";
import { APPROVAL_TTL_SECONDS } from "../oauth/lifetimes.ts";

const VALUE = /^[\w-]{43}$/;

/** The cookie's name without the prefix that https gives it. */
const NAME = "browser";

function prefixFor(baseUrl: string): "host" | undefined {
  // On http, which is loopback only, browsers refuse the __Host- prefix.
  return baseUrl.startsWith("https:") ? "host" : undefined;
}

/** The browser's cookie; undefined when it sends none. */
export function browserOf(c: Context, baseUrl: string): string | undefined {
  const value = getCookie(c, NAME, prefixFor(baseUrl));
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** The browser's cookie, a new one if need be; sent back in either case. */
export function keepBrowser(c: Context, baseUrl: string): string {
  const value = browserOf(c, baseUrl) ?? randomId();
  const prefix = prefixFor(baseUrl);
  setCookie(c, NAME, value, {
    prefix,
    path: "/",
    httpOnly: true,
    // Lax: it must come along when the provider sends the browser back.
    sameSite: "Lax",
    secure: prefix !== undefined,
    maxAge: APPROVAL_TTL_SECONDS,
  });
  return value;
}
