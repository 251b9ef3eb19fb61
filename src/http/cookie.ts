/**
 * Cookies that only this server reads: `__Host-` on https, never for scripts.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { deleteCookie, getCookie, setCookie } from "@hono/hono/cookie";

/** The form of every value we set: 32 random bytes. */
const VALUE = /^[\w-]{43}$/;

/** A cookie's name without the prefix for https, and the site it belongs to. */
export interface Cookie {
  name: string;
  baseUrl: string;
}

/**
 * Reads a cookie's value; undefined if there is none that we could have set.
 */
export function readCookie(
  c: Context,
  { name, baseUrl }: Cookie,
): string | undefined {
  const value = getCookie(c, name, prefixFor(baseUrl));
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** Sets a cookie; `maxAge` is in seconds. */
export function keepCookie(
  c: Context,
  { name, baseUrl }: Cookie,
  value: string,
  maxAge: number,
): void {
  setCookie(c, name, value, { ...attributes(baseUrl), maxAge });
}

/** Removes a cookie. */
export function dropCookie(c: Context, { name, baseUrl }: Cookie): void {
  deleteCookie(c, name, attributes(baseUrl));
}

function attributes(baseUrl: string) {
  const prefix = prefixFor(baseUrl);
  return {
    prefix,
    path: "/",
    httpOnly: true,
    // Lax: the cookie must be sent when the provider redirects the browser
    // back.
    sameSite: "Lax",
    secure: prefix !== undefined,
  } as const;
}

function prefixFor(baseUrl: string): "host" | undefined {
  // On http, which means loopback, browsers refuse the __Host- prefix.
  return baseUrl.startsWith("https:") ? "host" : undefined;
}
