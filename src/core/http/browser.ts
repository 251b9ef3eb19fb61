/**
 * Cookies, CSRF tokens of forms, and redirects.
 *
 * @module
 */
import type { Context } from "@hono/hono";
import { deleteCookie, getCookie, setCookie } from "@hono/hono/cookie";
import { fingerprint, isSameSecret, randomId } from "../crypto/crypto.ts";
import { HttpError } from "../errors.ts";
import { basePathOf } from "../net/url.ts";
import { CONSENT_TTL_SECONDS } from "../oauth/lifetimes.ts";

/** The form of a cookie's value: 32 bytes in base64url. */
const VALUE = /^[\w-]{43}$/;

/** A cookie: its name without prefix and path, and the server's base URL. */
export interface Cookie {
  name: string;
  baseUrl: string;
}

/**
 * Returns the value of a cookie; undefined if it is missing or not 32 bytes.
 */
export function readCookie(
  c: Context,
  { name, baseUrl }: Cookie,
): string | undefined {
  const value = getCookie(c, cookieName({ name, baseUrl }), prefixFor(baseUrl));
  return value !== undefined && VALUE.test(value) ? value : undefined;
}

/** Sets a cookie; `maxAge` is in seconds. */
export function keepCookie(
  c: Context,
  cookie: Cookie,
  value: string,
  maxAge: number,
): void {
  setCookie(c, cookieName(cookie), value, {
    ...attributes(cookie.baseUrl),
    maxAge,
  });
}

export function dropCookie(c: Context, cookie: Cookie): void {
  deleteCookie(c, cookieName(cookie), attributes(cookie.baseUrl));
}

/**
 * Returns the name of a cookie, without its prefix. Browsers send cookies to
 * all ports and paths of a host, so a fingerprint of both tells the servers of
 * one host apart.
 */
export function cookieName({ name, baseUrl }: Cookie): string {
  const place = new URL(baseUrl).port + basePathOf(baseUrl);
  return place === "" ? name : `${name}-${fingerprint(place).slice(0, 8)}`;
}

function attributes(baseUrl: string) {
  const prefix = prefixFor(baseUrl);
  return {
    prefix,
    path: "/",
    httpOnly: true,
    // Lax: browsers must send the cookie when the provider redirects back.
    sameSite: "Lax",
    secure: prefix !== undefined,
  } as const;
}

function prefixFor(baseUrl: string): "host" | undefined {
  // On http, which means loopback, browsers refuse the `__Host-` prefix.
  return baseUrl.startsWith("https:") ? "host" : undefined;
}

/**
 * The name of a cookie that ties a sign-in to its browser; it identifies no
 * person.
 */
const name = "browser";

/** Returns the value of the browser's cookie; undefined if it sent none. */
export function browserCookieOf(
  c: Context,
  baseUrl: string,
): string | undefined {
  return readCookie(c, { name, baseUrl });
}

/**
 * Returns the value of the browser's cookie, or a new one, and sets the cookie.
 */
export function keepBrowserCookie(c: Context, baseUrl: string): string {
  const value = browserCookieOf(c, baseUrl) ?? randomId();
  keepCookie(c, { name, baseUrl }, value, CONSENT_TTL_SECONDS);
  return value;
}

/** Makes a CSRF token for the forms of one page. `sessionId` must be secret. */
export function mintCsrf(sessionId: string): string {
  const nonce = randomId(16);
  return `${nonce}.${bind(nonce, sessionId)}`;
}

/** True if a CSRF token was made for this session. */
export function isCsrf(token: string, sessionId: string): boolean {
  const [nonce, bound = ""] = token.split(".");
  return isSameSecret(bound, bind(nonce, sessionId));
}

function bind(nonce: string, sessionId: string): string {
  return fingerprint(`csrf ${nonce} ${sessionId}`);
}

/**
 * Refuses a form that a page of another site sent (CSRF). `Sec-Fetch-Site` is
 * right even behind a proxy, but older browsers do not send it. `Origin` alone
 * is not enough: a foreign page can make the browser send `null`.
 * @throws {HttpError} 403
 * @see Fetch Metadata Request Headers §2.3
 */
export function checkSameSite(
  { headers }: Pick<Request, "headers">,
  baseUrl: string,
): void {
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const isOwn = site === null
    ? origin === null || origin === new URL(baseUrl).origin
    : site === "same-origin" || site === "none";
  if (!isOwn) throw new HttpError(403, "A page of another site sent this form");
}

/**
 * Refuses to serve a page as an image, frame or script: any site could make its
 * visitors' browsers send many such requests. Browsers send `Sec-Fetch-Dest`;
 * other programs do not.
 *
 * @throws {HttpError} 403
 * @see Fetch Metadata Request Headers §2.1
 */
export function checkDocument({ headers }: Pick<Request, "headers">): void {
  const destination = headers.get("sec-fetch-dest") ?? "document";
  if (destination === "document") return;
  throw new HttpError(403, "This is a page: open it in a window of its own");
}

/**
 * Makes a redirect without caching: 303 after a form, otherwise 302. Never 307,
 * which would send the form again (RFC 9700 §4.12).
 */
export function redirect(c: Context, location: string): Response {
  c.header("Cache-Control", "no-store");
  c.header("Referrer-Policy", "no-referrer");
  // Not `c.redirect()`, which would encode the URL again.
  c.header("Location", location);
  return c.body(null, c.req.method === "POST" ? 303 : 302);
}
