/**
 * `fetch` for URLs that another MCP server names, guarded against SSRF: only
 * https. A host in a private network is allowed only if the MCP server is in
 * one and has the same domain.
 *
 * @module
 */
import { sendOnce } from "../../core/net/send_once.ts";
import type { OAuthAccount } from "../../authoring/account.ts";
import { isPublicAddress } from "../../core/auth/clients/fetch_bounds.ts";
import { parseServerUrl } from "../../core/net/server_url.ts";
import { isLoopback, registeredDomain } from "../../core/net/url.ts";
import { misbehaved } from "../../core/provider/provider.ts";

/** An IPv4-mapped IPv6 address, which may be public. */
const MAPPED = /^::ffff:/i;

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
   * True if a host may be in a private network: the author named it, or the MCP
   * server has the same domain and is in a private network. The domain's owner
   * could give any internal host a name in the domain, but a host of someone
   * else has no certificate for that name.
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
