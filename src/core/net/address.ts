/**
 * IP addresses and networks.
 *
 * @module
 */

/** An IP address as a number of 32 or 128 bits. */
export interface Address {
  bits: bigint;
  width: number;
}

/** The addresses that share their first `length` bits (CIDR). */
export interface Network extends Address {
  length: number;
}

/** The prefix of IPv4 addresses mapped into IPv6: `::ffff:192.0.2.1`. */
const MAPPED = 0xffffn;

/**
 * Parses an address as sockets and proxies write it. A zone is ignored, and an
 * IPv4-mapped IPv6 address becomes an IPv4 address.
 */
export function parseAddress(text: string): Address | undefined {
  const ipv4 = ipv4Bits(text);
  if (ipv4 !== undefined) return { bits: ipv4, width: 32 };
  const bits = ipv6Bits(withoutMixedForm(text.replace(/%.*/, "")));
  if (bits === undefined) return undefined;
  return bits >> 32n === MAPPED
    ? { bits: bits & 0xffffffffn, width: 32 }
    : { bits, width: 128 };
}

/** Parses a network such as `10.0.0.0/8`, or a single address. */
export function parseNetwork(text: string): Network | undefined {
  const [before, after, ...more] = text.split("/");
  const address = parseAddress(before);
  if (address === undefined || more.length > 0) return undefined;
  if (after === undefined) return { ...address, length: address.width };
  // An IPv4-mapped range counts its bits from the start of the IPv6 address.
  const skipped = address.width === 32 && before.includes(":") ? 96 : 0;
  const length = Number(after) - skipped;
  const isLength = /^\d{1,3}$/.test(after) && length >= 0 &&
    length <= address.width;
  return isLength ? { ...address, length } : undefined;
}

export function isInNetwork(address: Address, network: Network): boolean {
  if (address.width !== network.width) return false;
  const shift = BigInt(network.width - network.length);
  return address.bits >> shift === network.bits >> shift;
}

/**
 * Parses four decimal numbers; octal, hexadecimal and short forms are refused.
 */
export function ipv4Bits(address: string): bigint | undefined {
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

/**
 * Parses forms 1 and 2 of RFC 4291 §2.2; undefined for form 3, which ends in an
 * IPv4 address, and for any other text.
 */
export function ipv6Bits(address: string): bigint | undefined {
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

/**
 * Converts the dotted end of form 3 of RFC 4291 §2.2 to two groups, as in form
 * 1.
 */
function withoutMixedForm(text: string): string {
  const start = text.lastIndexOf(":") + 1;
  const bits = ipv4Bits(text.slice(start));
  if (bits === undefined) return text;
  const group = (value: bigint) => value.toString(16);
  return `${text.slice(0, start)}${group(bits >> 16n)}:` +
    group(bits & 0xffffn);
}

/** Formats an address; an IPv6 address with all eight groups. */
export function printAddress({ bits, width }: Address): string {
  const isIpv4 = width === 32;
  const size = isIpv4 ? 8 : 16;
  const parts = Array.from({ length: width / size }, (_, index) => {
    const part = bits >> BigInt(width - size * (index + 1));
    return (part & (1n << BigInt(size)) - 1n).toString(isIpv4 ? 10 : 16);
  });
  return parts.join(isIpv4 ? "." : ":");
}
