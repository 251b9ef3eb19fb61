/**
 * `fetch` towards addresses that another MCP server names: over https alone, and
 * into a private network only from a server there, within its domain.
 *
 * @module
 */
import { sendOnce } from "../../core/net/send_once.ts";
import type { OAuthAccount } from "../../authoring/account.ts";
import { isPublicAddress } from "../../core/auth/clients/fetch_bounds.ts";
import { parseServerUrl } from "../../core/net/server_url.ts";
import { isLoopback, registeredDomain } from "../../core/net/url.ts";
import { misbehaved } from "../../core/provider/provider.ts";

/** An IPv4 address in the form of IPv6, which may be a public one. */
const MAPPED = /^::ffff:/i;

/** Makes the `fetch` for one service and its authorization servers. */
export function guardedFetch(
  { api, issuer }: Pick<OAuthAccount, "api" | "issuer">,
  send: typeof fetch = sendOnce,
  resolve = resolveAddresses,
): typeof fetch {
  const own = new URL(api);
  const chosen = URL.parse(issuer ?? "");

  const addressesOf = ({ hostname }: URL) =>
    resolve(hostname.replace(/^\[|\]$/g, ""));

  /**
   * True if a host may be in a private network: if the author has named it, or
   * if a server of the same domain is in one. The owner of a domain can point
   * its names at any host inside, but only hosts of the owner have a
   * certificate for these names.
   */
  async function mayBeInside(url: URL): Promise<boolean> {
    if ([own.hostname, chosen?.hostname].includes(url.hostname)) return true;
    if (registeredDomain(url.hostname) !== registeredDomain(own.hostname)) {
      return false;
    }
    const addresses = await addressesOf(own);
    return !addresses.some((it) => isPublicAddress(it) || MAPPED.test(it));
  }

  return async (input, init) => {
    const address = input instanceof Request ? input.url : `${input}`;
    const url = parseServerUrl(address, own);
    if (!url) throw misbehaved(`${own.host} names what is no https URL`);
    const isNear = isLoopback(url) && isLoopback(own);
    if (url.origin !== own.origin && !isNear) {
      const isAllowed = await mayBeInside(url) ||
        (await addressesOf(url)).every(isPublicAddress);
      if (!isAllowed) throw misbehaved(`${url.host} is not a public address`);
    }
    return await send(input, init);
  };
}

async function resolveAddresses(hostname: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises");
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}
