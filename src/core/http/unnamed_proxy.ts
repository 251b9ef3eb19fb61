/**
 * Detects a reverse proxy that is missing from `TRUSTED_PROXIES`.
 *
 * @module
 */
import { type Network, parseAddress, parseNetwork } from "../net/address.ts";
import { isTrusted } from "./client_address.ts";

const NEAR = [
  ...["127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"],
  ...["100.64.0.0/10", "::1", "fc00::/7"],
].map((text) => parseNetwork(text)!);

/**
 * True if a nearby proxy forwarded the request, but `TRUSTED_PROXIES` does not
 * list that proxy.
 */
export function isOfUnnamedProxy(
  peer: string | undefined,
  headers: Headers,
  trusted: readonly Network[],
): boolean {
  if (!headers.has("x-forwarded-for") && !headers.has("forwarded")) {
    return false;
  }
  const address = peer === undefined ? undefined : parseAddress(peer);
  return address !== undefined && isTrusted(address, NEAR) &&
    !isTrusted(address, trusted);
}
