/**
 * The addresses that a provider's token may be sent to.
 *
 * @module
 */
import { isLoopback } from "../../net/loopback.ts";

/**
 * First labels of API hosts; without them the name is the provider's domain.
 */
const API_LABEL = /^(api|graph|www)\./;

/**
 * True if a URL is the provider's: the origin of its API, or another https host
 * in that API's domain. If no API address is known, the tool's author chooses
 * the host, and only a host without https is refused.
 */
export function isProviderAddress(url: URL, apiUrl?: string): boolean {
  if (apiUrl === undefined) return url.protocol === "https:" || isLoopback(url);
  const api = new URL(apiUrl);
  if (url.origin === api.origin) return true;
  const domain = api.hostname.replace(API_LABEL, "");
  return url.protocol === "https:" &&
    (url.hostname === domain || url.hostname.endsWith(`.${domain}`));
}
