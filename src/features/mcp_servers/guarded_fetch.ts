/**
 * `fetch` towards addresses that another MCP server names: over https alone, and
 * not into a private network from a public server.
 *
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import { isPublicAddress } from "../../core/auth/clients/fetch_bounds.ts";
import { isLoopback } from "../../core/net/url.ts";
import { misbehaved, UpstreamError } from "../../core/provider/provider.ts";

/** Makes the fetch of what concerns one service. */
export function guardedFetch(
  { api }: Pick<AccountService, "api">,
  send: typeof fetch = fetch,
  resolve = resolveAddresses,
): typeof fetch {
  const own = new URL(api);

  async function isPublic({ hostname }: URL): Promise<boolean> {
    const addresses = await resolve(hostname.replace(/^\[|\]$/g, ""));
    return addresses.every(isPublicAddress);
  }

  return async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    if (url.origin !== own.origin) {
      if (isLoopback(url) && isLoopback(own)) return await send(input, init);
      if (url.protocol !== "https:" || url.username || url.password) {
        throw misbehaved(`${url.host} is named without https`);
      }
      // A server within a network may name others there.
      const isRefused = url.hostname !== own.hostname &&
        !await isPublic(url).catch(unresolved(url)) &&
        await isPublic(own).catch(unresolved(own));
      if (isRefused) throw misbehaved(`${url.host} is not a public address`);
    }
    return await send(input, init);
  };
}

async function resolveAddresses(hostname: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises");
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}

function unresolved({ host }: URL) {
  return (cause: unknown): never => {
    throw new UpstreamError("unavailable", `${host} did not answer`, { cause });
  };
}
