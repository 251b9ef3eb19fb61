/**
 * The API of a provider, and the URLs to which its access tokens may be sent.
 *
 * @module
 */
import { sendOnce } from "../net/send_once.ts";
import { isLoopback } from "../net/url.ts";
import type { Provider } from "./provider.ts";

/**
 * Matches the first label of an API host; the rest is the provider's domain.
 */
const API_LABEL = /^(api|graph|www)\./;

/**
 * True if a provider's access token may be sent to a URL. The URL must have the
 * origin of the provider's API, or be https in the domain of that API. If that
 * API is not known, the tool's author chooses the host; the URL must be https
 * or loopback.
 */
export function isProviderAddress(url: URL, apiUrl?: string): boolean {
  if (apiUrl === undefined) return url.protocol === "https:" || isLoopback(url);
  const api = new URL(apiUrl);
  if (url.origin === api.origin) return true;
  const domain = api.hostname.replace(API_LABEL, "");
  return url.protocol === "https:" &&
    (url.hostname === domain || url.hostname.endsWith(`.${domain}`));
}

/** Resolves a URL or path of the provider's API. */
export function providerRequestUrl(
  { name, apiUrl }: Pick<Provider, "name" | "apiUrl">,
  input: string | URL,
): URL {
  // A path is relative to the API's own path, not to the root of its host.
  const isPath = typeof input === "string" && input.startsWith("/");
  const base = apiUrl?.replace(/\/$/, "") ?? "";
  const url = URL.parse(isPath ? base + input : input);
  if (!url) {
    throw new TypeError(
      apiUrl === undefined
        ? `${name} has no API address: use an absolute URL`
        : "Neither a path nor an absolute URL",
    );
  }
  if (isProviderAddress(url, apiUrl)) return url;
  throw new TypeError(`${url.origin} is not ${name}'s: its token stays here`);
}

/** Sends a request with the provider's access token. */
export async function sendWithToken(
  url: URL,
  init: RequestInit,
  accessToken: string,
): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${accessToken}`);
  return await sendOnce(url, { ...init, headers });
}
