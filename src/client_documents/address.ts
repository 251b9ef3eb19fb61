/**
 * Which addresses a stranger's URL may lead us to.
 *
 * @module
 */

/** An address range: its first address's bits, and how many of them count. */
interface Range {
  bits: bigint;
  length: number;
}

/**
 * What is not the public Internet.
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
].map((range) => parseRange(range, ipv4Bits, 32));

/** What of IPv6 is public at all: everything else is special or unassigned. */
const GLOBAL_UNICAST = parseRange("2000::/3", ipv6Bits, 128);

/**
 * What of that is not, or leads to an IPv4 address that is not checked here.
 *
 * @see IANA IPv6 Special-Purpose Address Registry (RFC 6890)
 */
const SPECIAL_IPV6 = [
  "2001::/23", // protocol assignments: Teredo, ORCHID, benchmarks
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4
  "2620:4f:8000::/48", // AS112
  "3ffe::/16", // the former 6bone
  "3fff::/20", // documentation
].map((range) => parseRange(range, ipv6Bits, 128));

/**
 * Whether an IP address, as a resolver prints it, is on the public Internet.
 * What is not an address is not public; neither is an IPv6 address with an
 * IPv4 address inside (mapped, compatible, 6to4, NAT64, Teredo), nor one with
 * a zone.
 */
export function isPublicAddress(address: string): boolean {
  const ipv4 = ipv4Bits(address);
  if (ipv4 !== undefined) {
    return !SPECIAL_IPV4.some((range) => isWithin(ipv4, range, 32));
  }
  const ipv6 = ipv6Bits(address);
  return ipv6 !== undefined && isWithin(ipv6, GLOBAL_UNICAST, 128) &&
    !SPECIAL_IPV6.some((range) => isWithin(ipv6, range, 128));
}

function isWithin(bits: bigint, range: Range, width: number): boolean {
  const shift = BigInt(width - range.length);
  return bits >> shift === range.bits >> shift;
}

function parseRange(
  range: string,
  bitsOf: (address: string) => bigint | undefined,
  width: number,
): Range {
  const [address, length] = range.split("/");
  const bits = bitsOf(address);
  if (bits === undefined || Number(length) > width) throw new RangeError(range);
  return { bits, length: Number(length) };
}

/** Four decimal numbers; no octal, hexadecimal or short forms. */
function ipv4Bits(address: string): bigint | undefined {
  const parts = address.split(".");
  if (parts.length !== 4) return undefined;
  let bits = 0n;
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) {
      return undefined;
    }
    bits = bits << 8n | BigInt(part);
  }
  return bits;
}

/** RFC 4291 §2.2, forms 1 and 2; the mixed form holds an IPv4 address. */
function ipv6Bits(address: string): bigint | undefined {
  const [head, tail, ...more] = address.split("::");
  if (more.length > 0) return undefined;
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  if (left === undefined || right === undefined) return undefined;
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const zeros = Array<bigint>(missing).fill(0n);
  return [...left, ...zeros, ...right].reduce(
    (bits, group) => bits << 16n | group,
    0n,
  );
}

function groups(text: string): bigint[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  return parts.every((part) => /^[\da-f]{1,4}$/i.test(part))
    ? parts.map((part) => BigInt(`0x${part}`))
    : undefined;
}
