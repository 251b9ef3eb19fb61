/**
 * Limits on fetching client ID metadata documents and JWKS. Anyone can choose
 * their URLs, as often as they like. So only public addresses are allowed, and
 * the number of fetches is limited.
 * @module
 */
import { Buckets } from "../../http/buckets.ts";
import type { FetchDocument, FetchForClient } from "../../store/documents.ts";
import {
  type Address,
  ipv4Bits,
  ipv6Bits,
  isInNetwork,
  type Network,
  parseNetwork,
} from "../../net/address.ts";
import { registeredDomain } from "../../net/url.ts";

/**
 * A limit on fetches for each name: how many at once, and how many a minute.
 */
class FetchBound {
  readonly #perMinute: Buckets;
  readonly #open = new Map<string, number>();

  constructor(private readonly atOnce: number, aMinute: number) {
    this.#perMinute = new Buckets({ burst: aMinute, perSecond: aMinute / 60 });
  }

  isBusy(name: string): boolean {
    return (this.#open.get(name) ?? 0) >= this.atOnce;
  }

  /** Counts a fetch. Returns false if the limit of this minute is reached. */
  take(name: string): boolean {
    return this.#perMinute.take(name) === 0;
  }

  begin(name: string): void {
    this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
  }

  end(name: string): void {
    const rest = this.#open.get(name)! - 1;
    if (rest > 0) this.#open.set(name, rest);
    else this.#open.delete(name);
  }
}

const ALL = "all";

/**
 * Limits the fetches of documents for each network that requests come from, so
 * that none uses up the fetches of others; for each domain, because its owner
 * can make any number of hosts; and for all together. Documents of clients with
 * which a person has signed in are fetched without limits, so that a flood of
 * requests cannot block them.
 * @param trustedHosts hosts that the operator trusts: only the limit for
 * networks applies to them
 */
export function rateLimitedFetch(
  fetchDocument: FetchDocument,
  trustedHosts: ReadonlySet<string> = new Set(),
): FetchForClient {
  const networks = new FetchBound(8, 60);
  const domains = new FetchBound(4, 30);
  const all = new FetchBound(16, 120);

  return async (url, { isKept, network }) => {
    if (isKept) return await fetchDocument(url);
    const { hostname } = new URL(url);
    const bounds: [FetchBound, name: string][] = [];
    if (network !== undefined) bounds.push([networks, network]);
    if (!trustedHosts.has(hostname)) {
      bounds.push([domains, registeredDomain(hostname)], [all, ALL]);
    }
    const isAllowed = !bounds.some(([bound, name]) => bound.isBusy(name)) &&
      // `every` stops at the network's limit: a network over its limit uses
      // nothing of the other limits.
      bounds.every(([bound, name]) => bound.take(name));
    if (!isAllowed) {
      const cause = new Error("Too many are fetched");
      throw new DocumentError({ cause, isRefused: true });
    }
    for (const [bound, name] of bounds) bound.begin(name);
    try {
      return await fetchDocument(url);
    } finally {
      for (const [bound, name] of bounds) bound.end(name);
    }
  };
}

/**
 * A document that could not be fetched. The message never varies, so that no
 * one can probe a network through this server; only `isPermanent` differs. The
 * log gets the reason, from `cause`.
 */
export class DocumentError extends Error {
  override name = "DocumentError";
  /** True if the host responded, but not with a document. */
  readonly isPermanent: boolean;
  /** True if a limit prevented the fetch. */
  readonly isRefused: boolean;
  constructor(
    { isRefused = false, ...options }: ErrorOptions & { isRefused?: boolean },
  ) {
    super("The document could not be fetched", options);
    this.isPermanent = options.cause instanceof NoDocument;
    this.isRefused = isRefused;
  }
}

/** A response that is not a document, and will not become one. */
export class NoDocument extends Error {
  override name = "NoDocument";
}

/**
 * IPv4 networks outside the public Internet.
 *
 * @see IANA IPv4 Special-Purpose Address Registry (RFC 6890)
 */
const SPECIAL_IPV4 = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // carrier-grade NAT
  "127.0.0.0/8", // loopback
  "169.254.0.0/16", // link-local, and the metadata services of clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112
  "192.52.193.0/24", // AMT
  "192.88.99.0/24", // 6to4 relays
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast
].map((range) => parseNetwork(range)!);

/** The public part of IPv6; all other addresses are special or unassigned. */
const GLOBAL_UNICAST = parseNetwork("2000::/3")!;

/**
 * Networks within `GLOBAL_UNICAST` that are not public, and those that embed an
 * IPv4 address, because that address is not checked.
 * @see IANA IPv6 Special-Purpose Address Registry (RFC 6890)
 */
const SPECIAL_IPV6 = [
  "2001::/23", // protocol assignments: Teredo, ORCHID, benchmarks
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3ffe::/16", // the former 6bone
  "3fff::/20", // documentation
].map((range) => parseNetwork(range)!);

/**
 * True if an IP address is on the public Internet. False for any other text,
 * for an address with a zone, and for an IPv6 address that embeds an IPv4
 * address (mapped, compatible, 6to4, NAT64, Teredo).
 */
export function isPublicAddress(address: string): boolean {
  const ipv4 = ipv4Bits(address);
  if (ipv4 !== undefined) return !isIn({ bits: ipv4, width: 32 }, SPECIAL_IPV4);
  const bits = ipv6Bits(address);
  if (bits === undefined) return false;
  const ipv6 = { bits, width: 128 };
  return isInNetwork(ipv6, GLOBAL_UNICAST) && !isIn(ipv6, SPECIAL_IPV6);
}

function isIn(address: Address, networks: readonly Network[]): boolean {
  return networks.some((network) => isInNetwork(address, network));
}
