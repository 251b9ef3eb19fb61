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
  /** Settles once the answer was sent, or cannot be. */
  completed?: Promise<unknown>;
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

/** Names the network of a request; undefined if its address is unknown. */
export function networkOf(
  c: { get(name: "address"): Address | undefined },
): string | undefined {
  const address = c.get("address");
  return address && networkName(address);
}

/** Names a network by its address; for IPv6 by the /64 of one household. */
export function networkName({ bits, width }: Address): string {
  return width === 32
    ? `4:${bits.toString(16)}`
    : `6:${(bits >> 64n).toString(16)}`;
}

/**
 * Finds the right-most untrusted hop of a header. The hops in front of it, of
 * which a stranger may write thousands, are not parsed.
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
    if (!isTrusted(address, trusted)) return last;
  }
  return last;
}

/** The most hops of a header that are read: more than any chain of proxies. */
const MAX_HOPS = 20;

/** The longest hop that is read, with all parameters of its `Forwarded`. */
const MAX_HOP_CHARACTERS = 1000;

/**
 * Lists the hops of a header, the last first. A comma in quotes separates
 * nothing. The list ends with an empty hop at the start of the header, or in
 * place of a hop that is too long or has an open quote.
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
 * Finds the start of the hop that ends at `end`; undefined if it is too long or
 * has an open quote.
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

export function isTrusted(
  address: Address,
  trusted: readonly Network[],
): boolean {
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
  /\s*([!#$%&'*+.^`|~\w-]+)=("(?:[^"\\]|\\.)*"|[^\s",;]*)\s*(?:;|$)/y;

/**
 * Parses the `for` of one element of `Forwarded` (RFC 7239 §4). Returns
 * undefined if there is no `for`, or if the element cannot be read.
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
  /** Values of the socket. */
  Bindings: ConnectionInfo;
  /** Values that handlers add. */
  Variables: {
    address?: Address;
    /** The request's reference in the log; an error page may show it. */
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
