/**
 * Cookies that only this server reads: `__Host-` on https, never for scripts.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { deleteCookie, getCookie, setCookie } from "@hono/hono/cookie";

/** Every value we set looks like this: 32 random bytes. */
const VALUE = /^[\w-]{43}$/;

/** A cookie's name, without the prefix that https gives it, and its site. */
export interface Cookie {
  name: string;
  baseUrl: string;
}

/** A cookie's value; undefined when there is none that we could have set. */
export function readCookie(
  c: Context,
  { name, baseUrl }: Cookie,
): string | undefined {
  const value = getCookie(c, name, prefixFor(baseUrl));
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** Sets a cookie for so many seconds. */
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
    // Lax: it must come along when the provider sends the browser back.
    sameSite: "Lax",
    secure: prefix !== undefined,
  } as const;
}

function prefixFor(baseUrl: string): "host" | undefined {
  // On http, which is loopback only, browsers refuse the __Host- prefix.
  return baseUrl.startsWith("https:") ? "host" : undefined;
}
