/**
 * Cookies that only this server reads: `__Host-` on https, never for scripts.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { deleteCookie, getCookie, setCookie } from "@hono/hono/cookie";
import { fingerprint, randomId } from "../crypto/crypto.ts";
import { basePathOf } from "../net/base_path.ts";
import { APPROVAL_TTL_SECONDS } from "../auth/rules/lifetimes.ts";

/** The form of every value we set: 32 random bytes. */
const VALUE = /^[\w-]{43}$/;

/** A cookie's name without prefix and path, and the site it belongs to. */
export interface Cookie {
  name: string;
  baseUrl: string;
}

/** Reads a cookie's value; undefined if none has the form of ours. */
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

/**
 * The cookie that ties a sign-in to the browser it began in. It is a random
 * name and identifies no person.
 */
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
