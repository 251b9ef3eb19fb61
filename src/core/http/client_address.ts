/**
 * The address of a client, also behind trusted proxies; and the detection of a
 * reverse proxy that `TRUSTED_PROXIES` does not name. Anyone can send
 * `Forwarded`, so only the part that a trusted proxy wrote is used.
 *
 * @see RFC 7239
 * @module
 */
import {
  type Address,
  isInNetwork,
  type Network,
  parseAddress,
  parseNetwork,
} from "../net/address.ts";

/** The connection of a request, as `Deno.serve` passes it to its handler. */
export interface ConnectionInfo {
  /** The other end of the connection. Rate limits use its `hostname`. */
  remoteAddr?: { hostname?: string };
  /** Settles when the response was sent, or cannot be sent. */
  completed?: Promise<unknown>;
}

/**
 * Finds the address of a client. It is the peer of the connection, unless the
 * peer is a trusted proxy: then it is the right-most untrusted address in
 * `Forwarded` or `X-Forwarded-For`. If that hop has no valid address, the proxy
 * that wrote it is returned. If the two headers disagree, the peer is returned,
 * because the proxy wrote only one of them.
 */
export function clientAddress(
  peer: string | undefined,
  headers: Headers,
  trusted: readonly Network[],
): Address | undefined {
  const address = peer === undefined ? undefined : parseAddress(peer);
  if (address === undefined || !isTrustedProxy(address, trusted)) {
    return address;
  }
  const found = [
    [headers.get("forwarded"), forwardedHop] as const,
    [headers.get("x-forwarded-for"), hop] as const,
  ].flatMap(([header, parse]) =>
    header === null ? [] : [lastUntrusted(address, header, parse, trusted)]
  );
  const [first, second = first] = found;
  const isSame = first?.bits === second?.bits && first?.width === second?.width;
  return first !== undefined && isSame ? first : address;
}

/**
 * Returns the name of a client's network; undefined if its address is unknown.
 */
export function networkOf(
  c: { get(name: "address"): Address | undefined },
): string | undefined {
  const address = c.get("address");
  return address && networkName(address);
}

/**
 * Returns the name of an address's network: an IPv4 address, or a /64 of IPv6,
 * which is about one household.
 */
export function networkName({ bits, width }: Address): string {
  return width === 32
    ? `4:${bits.toString(16)}`
    : `6:${(bits >> 64n).toString(16)}`;
}

/**
 * Finds the right-most untrusted address of a header. Reads no further to the
 * left: anyone can write thousands of hops there.
 */
function lastUntrusted(
  proxy: Address,
  header: string,
  parse: (text: string) => Address | undefined,
  trusted: readonly Network[],
): Address {
  let last = proxy;
  for (const text of hopsFromRight(header)) {
    const address = parse(text);
    if (address === undefined) return last;
    last = address;
    if (!isTrustedProxy(address, trusted)) return last;
  }
  return last;
}

/**
 * The maximum number of hops that are parsed: more than any chain of proxies.
 */
const MAX_HOPS = 20;

/** The maximum length of a hop, with its parameters. */
const MAX_HOP_CHARACTERS = 1000;

/**
 * Yields the hops of a header from the right. A comma in quotes does not
 * separate hops. Ends with an empty hop at the start of the header, or at a hop
 * that is too long or has an open quote.
 */
function* hopsFromRight(header: string): Generator<string> {
  let end = header.length;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const start = startOfHop(header, end);
    if (start === undefined) return yield "";
    yield header.slice(start, end);
    end = start - 1;
  }
}

/**
 * Returns the start of the hop that ends at `end`; undefined if the hop is too
 * long or has an open quote.
 */
function startOfHop(header: string, end: number): number | undefined {
  const least = Math.max(0, end - MAX_HOP_CHARACTERS);
  let start = end;
  while (start > least && header[start - 1] !== ",") {
    start--;
    if (header[start] !== '"') continue;
    do {
      start = header.lastIndexOf('"', start - 1);
    } while (start > least && isEscaped(header, start));
  }
  return start === 0 || header[start - 1] === "," ? start : undefined;
}

/** True if an odd number of backslashes is in front of a character. */
function isEscaped(header: string, index: number): boolean {
  let first = index;
  while (header[first - 1] === "\\") first--;
  return (index - first) % 2 === 1;
}

export function isTrustedProxy(
  address: Address,
  trusted: readonly Network[],
): boolean {
  return trusted.some((network) => isInNetwork(address, network));
}

/** Parses one hop: an address, maybe with a port (IPv6 in brackets). */
function hop(text: string): Address | undefined {
  const trimmed = text.trim();
  const [, inBrackets] = /^\[(.*)\](?::\w+)?$/.exec(trimmed) ?? [];
  if (inBrackets !== undefined) return parseAddress(inBrackets);
  return parseAddress(trimmed) ?? parseAddress(trimmed.replace(/:\w+$/, ""));
}

const PAIR =
  /\s*([!#$%&'*+.^`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s",;]*)\s*(?:;|$)/y;

/**
 * Parses the `for` of one element of `Forwarded` (RFC 7239 §4). Returns
 * undefined if there is no `for`, or the element is malformed.
 */
function forwardedHop(element: string): Address | undefined {
  let address: Address | undefined;
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < element.length) {
    const [, name, value] = PAIR.exec(element) ?? [];
    if (name === undefined) return undefined;
    if (name.toLowerCase() !== "for") continue;
    address = hop(
      value.startsWith('"')
        ? value.slice(1, -1).replaceAll(/\\(.)/g, "$1")
        : value,
    );
  }
  return address;
}

/** The `Env` of our Hono apps. */
export interface AppEnv {
  /** The connection, from the socket. */
  Bindings: ConnectionInfo;
  /** Values that handlers set. */
  Variables: {
    address?: Address;
    /** The reference of the request in the log; an error page may show it. */
    reference: string;
    /** The client ID, once the client is known to exist. */
    clientId?: string;
    /** The id of the grant that the issued tokens belong to. */
    grantId?: string;
    /** The grant type of a token request. */
    grantType?: string;
    /** The reason of a refusal that was not thrown. */
    refusal?: string;
  };
}

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
  return address !== undefined && isTrustedProxy(address, NEAR) &&
    !isTrustedProxy(address, trusted);
}
