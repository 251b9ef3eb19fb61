/**
 * Where a provider's token may go.
 *
 * @module
 */
import { isLoopback } from "../loopback.ts";

/** First labels before the domain of a provider's other APIs. */
const API_LABEL = /^(api|graph|www)\./;

/**
 * Whether a URL is the provider's: the origin of its API, or another host of
 * that API's domain by https. Where no API address is known, the tool's author
 * names the host, and only a cleartext one is refused.
 */
export function isProviderAddress(url: URL, apiUrl?: string): boolean {
  if (apiUrl === undefined) return url.protocol === "https:" || isLoopback(url);
  const api = new URL(apiUrl);
  if (url.origin === api.origin) return true;
  const domain = api.hostname.replace(API_LABEL, "");
  return url.protocol === "https:" &&
    (url.hostname === domain || url.hostname.endsWith(`.${domain}`));
}
