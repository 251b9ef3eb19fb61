/**
 * The connection of a client, and its address, behind proxies too. Anyone can
 * write a header, so only the part that a trusted proxy wrote is believed.
 *
 * @module
 * @see RFC 7239
 */
import {
  type Address,
  isWithin,
  type Network,
  parseAddress,
} from "../net/address.ts";

/** The connection of a request, as `Deno.serve` passes it to its handler. */
export interface ConnectionInfo {
  /** The peer of the connection. Rate limits use its `hostname`. */
  remoteAddr?: { hostname?: string };
}

/**
 * Finds the address of a client: that of its connection, or, if that is a
 * trusted proxy's, the right-most untrusted one in `Forwarded` or
 * `X-Forwarded-For`. If that hop has no address (`unknown`, an obfuscated name,
 * nonsense), it is the address of the proxy that wrote the hop. If both headers
 * are present and differ, one of them was only passed on: then it is the
 * address of the connection.
 */
export function clientAddress(
  peer: string | undefined,
  headers: Headers,
  trusted: readonly Network[],
): Address | undefined {
  const address = peer === undefined ? undefined : parseAddress(peer);
  if (address === undefined || !isTrusted(address, trusted)) return address;
  const forwarded = headers.get("forwarded");
  const forwardedFor = headers.get("x-forwarded-for");
  const found = [
    ...(forwarded === null ? [] : [parseForwarded(forwarded)]),
    ...(forwardedFor === null ? [] : [forwardedFor.split(",").map(hop)]),
  ].map((hops) => lastUntrusted(address, hops, trusted));
  const [first, second = first] = found;
  const isSame = first?.bits === second?.bits && first?.width === second?.width;
  return first !== undefined && isSame ? first : address;
}

/** Names a network by its address; for IPv6 by the /64 of one household. */
export function networkName({ bits, width }: Address): string {
  return width === 32
    ? `4:${bits.toString(16)}`
    : `6:${(bits >> 64n).toString(16)}`;
}

function lastUntrusted(
  proxy: Address,
  hops: readonly (Address | undefined)[],
  trusted: readonly Network[],
): Address {
  let last = proxy;
  for (const address of hops.toReversed()) {
    if (address === undefined) return last;
    last = address;
    if (!isTrusted(address, trusted)) return last;
  }
  return last;
}

function isTrusted(address: Address, trusted: readonly Network[]): boolean {
  return trusted.some((network) => isWithin(address, network));
}

/** Parses one hop: an address, or one with a port (IPv6 in brackets). */
function hop(text: string): Address | undefined {
  const trimmed = text.trim();
  const [, inBrackets] = /^\[(.*)\](?::\w+)?$/.exec(trimmed) ?? [];
  if (inBrackets !== undefined) return parseAddress(inBrackets);
  return parseAddress(trimmed) ?? parseAddress(trimmed.replace(/:\w+$/, ""));
}

const PAIR =
  /\s*([!#$%&'*+.^`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s",;]*)\s*([;,]|$)/y;

/**
 * Reads the `for` of each element (RFC 7239 §4); an element without one gives
 * undefined.
 */
function parseForwarded(header: string): (Address | undefined)[] {
  const hops: (Address | undefined)[] = [];
  let current: Address | undefined;
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < header.length) {
    const [, name, value, separator] = PAIR.exec(header) ?? [];
    // The rest is unreadable, so the hops cannot be told apart.
    if (name === undefined) return [undefined];
    const text = value.startsWith('"')
      ? value.slice(1, -1).replaceAll(/\\(.)/g, "$1")
      : value;
    if (name.toLowerCase() === "for") current = hop(text);
    if (separator !== ";") {
      hops.push(current);
      current = undefined;
    }
  }
  return hops;
}

/** The `Env` of our Hono apps. */
export interface AppEnv {
  /** Values of the socket. */
  Bindings: ConnectionInfo;
  /** Values that handlers add. */
  Variables: {
    address?: Address;
    /**
     * The reference of the request in the log; a page about an error may show
     * it.
     */
    reference: string;
    /** The ID of the client, once it is known to exist. */
    clientId?: string;
    /** The grant of the issued tokens. */
    grantId?: string;
    /** The grant type of a token request. */
    grantType?: string;
    /** The reason of a refusal that is answered without an error. */
    refusal?: string;
  };
}
