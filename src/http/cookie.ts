/**
 * Cookies that only this server reads: `__Host-` on https, never for scripts.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { deleteCookie, getCookie, setCookie } from "@hono/hono/cookie";
import { fingerprint } from "../crypto/crypto.ts";
import { basePathOf } from "../net/base_path.ts";

/** The form of every value we set: 32 random bytes. */
const VALUE = /^[\w-]{43}$/;

/** A cookie's name without prefix and path, and the site it belongs to. */
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
  const value = getCookie(c, nameAt(baseUrl, name), prefixFor(baseUrl));
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** Sets a cookie; `maxAge` is in seconds. */
export function keepCookie(
  c: Context,
  { name, baseUrl }: Cookie,
  value: string,
  maxAge: number,
): void {
  setCookie(c, nameAt(baseUrl, name), value, {
    ...attributes(baseUrl),
    maxAge,
  });
}

export function dropCookie(c: Context, { name, baseUrl }: Cookie): void {
  deleteCookie(c, nameAt(baseUrl, name), attributes(baseUrl));
}

/**
 * Gives a cookie's name at a server. `__Host-` cookies are for a whole origin,
 * so servers on one origin, under paths, have the path in the name.
 */
function nameAt(baseUrl: string, name: string): string {
  const path = basePathOf(baseUrl);
  return path === "" ? name : `${name}-${fingerprint(path).slice(0, 8)}`;
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
