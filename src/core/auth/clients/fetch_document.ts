/**
 * Fetches a client ID metadata document, or a JWKS, from a URL that anyone may
 * have chosen. The host name is resolved once, and the connection goes to the
 * address that was checked. So DNS cannot redirect it to another address (DNS
 * rebinding).
 * @see draft-ietf-oauth-client-id-metadata-document §5, §8.6, §8.7, RFC 9111
 * §4.2
 * @module
 */
import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { within } from "../../clock.ts";
import { documentUrl } from "../../oauth/client.ts";
import { readAtMost } from "../../net/body_bytes.ts";
import { DocumentError, isPublicAddress, NoDocument } from "./fetch_bounds.ts";
import type { FetchDocument } from "../../store/documents.ts";

/** The maximum time from the resolution of the host name to the last byte. */
const TIMEOUT_SECONDS = 5;

/**
 * The maximum size of a document. The draft recommends 5 KB; documents with a
 * JWKS need more.
 */
const MAX_DOCUMENT_BYTES = 16 * 1024;

/**
 * The maximum depth of nesting in a document. The database cannot store
 * thousands of levels.
 */
const MAX_LEVELS = 20;

/** The maximum number of addresses of a host that are tried. */
const MAX_ADDRESSES = 4;

/** A document's JSON, and the time until which it is fresh by its headers. */
type FetchedDocument = Awaited<ReturnType<FetchDocument>>;

/**
 * The options of a fetch, for tests. The defaults are for the public Internet.
 */
export interface DocumentOptions {
  /** Epoch seconds. */
  now?: number;
  timeoutSeconds?: number;
  resolve?: (hostname: string) => Promise<readonly string[]>;
  /** Returns the host and port to connect to for a checked address. */
  connect?: (address: string) => { host: string; port: number; ca?: string };
}

/**
 * Fetches a JSON document from a public https URL.
 *
 * @throws {DocumentError} always with the same message
 */
export async function fetchDocument(
  url: string,
  {
    now = Math.floor(Date.now() / 1000),
    timeoutSeconds = TIMEOUT_SECONDS,
    resolve = resolveAddresses,
    connect = (address) => ({ host: address, port: 443 }),
  }: DocumentOptions = {},
): Promise<FetchedDocument> {
  const abort = new AbortController();
  try {
    return await within(timeoutSeconds * 1000, fetchNow(), () => {
      abort.abort();
      throw new Error(`No answer within ${timeoutSeconds} s`);
    });
  } catch (cause) {
    throw new DocumentError({ cause });
  }

  async function fetchNow(): Promise<FetchedDocument> {
    const target = documentUrl(url);
    if (!target) throw new TypeError("The address is no plain https URL");
    const addresses = checkAddresses(await resolve(target.hostname));
    const message = await firstAnswer(addresses, target);
    const body = await readAtMost(
      message,
      MAX_DOCUMENT_BYTES,
      (much) => new NoDocument(`It has ${much}`),
    );
    const document = parseDocument(message, await body.text());
    const headers = new Headers(
      Object.entries(message.headersDistinct).map((
        [name, values],
      ) => [name, values!.join(", ")]),
    );
    return { document, expiresAt: now + freshSeconds(headers, now) };
  }

  async function firstAnswer(
    addresses: readonly string[],
    target: URL,
  ): Promise<IncomingMessage> {
    const failures: unknown[] = [];
    for (const address of addresses) {
      try {
        return await get(target, connect(address), abort.signal);
      } catch (error) {
        failures.push(error);
        if (abort.signal.aborted) break;
      }
    }
    throw new AggregateError(failures, "No address answered");
  }
}

async function resolveAddresses(hostname: string): Promise<string[]> {
  const found = await lookup(hostname, { all: true, order: "ipv4first" });
  return found.map(({ address }) => address);
}

function checkAddresses(addresses: readonly string[]): readonly string[] {
  const wrong = addresses.find((address) => !isPublicAddress(address));
  if (wrong !== undefined) throw new Error(`${wrong} is not a public address`);
  if (addresses.length === 0) throw new Error("The name has no address");
  return addresses.slice(0, MAX_ADDRESSES);
}

/**
 * Sends a request to one address. The certificate must be for the URL's host
 * name.
 */
function get(
  target: URL,
  { host, port, ca }: { host: string; port: number; ca?: string },
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request({
      host,
      port,
      ca,
      servername: target.hostname,
      path: target.pathname + target.search,
      headers: { host: target.host, accept: "application/json" },
      // Documents are fetched too rarely to keep connections open.
      agent: false,
      signal,
    }, resolve).on("error", reject).end();
  });
}

function parseDocument(
  { statusCode, headers }: IncomingMessage,
  text: string,
): unknown {
  if (statusCode !== 200) {
    const says = `The answer was ${statusCode}`;
    // A redirect is a permanent error: a document must be at its own URL
    // (§5).
    throw isTemporary(statusCode) ? new Error(says) : new NoDocument(says);
  }
  const type = headers["content-type"]?.split(";")[0].trim().toLowerCase();
  if (!/^application\/(?:json|[\w.!#$&^+-]+\+json)$/.test(type ?? "")) {
    throw new NoDocument(`The answer's type was ${type}`);
  }
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new NoDocument("The answer was not JSON", { cause });
  }
  if (isWithin(document, MAX_LEVELS)) return document;
  throw new NoDocument(`It is nested more than ${MAX_LEVELS} deep`);
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 &&
    Object.values(value).every((member) => isWithin(member, levels - 1));
}

function isTemporary(status = 500): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/** The seconds for which a response is fresh if its headers do not say. */
const DEFAULT_FRESH_SECONDS = 3600;

/**
 * Computes the seconds for which a response stays fresh, from its
 * `Cache-Control`, `Expires` and `Age`; at least 0.
 *
 * @param now epoch seconds
 */
export function freshSeconds(headers: Headers, now: number): number {
  return Math.max(0, freshSecondsOf(headers, now) ?? DEFAULT_FRESH_SECONDS);
}

function freshSecondsOf(headers: Headers, now: number): number | undefined {
  const directives = (headers.get("cache-control") ?? "").toLowerCase();
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,=])/.test(directives)) return 0;
  const lifetime = seconds(directives, "s-maxage") ??
    seconds(directives, "max-age");
  if (lifetime !== undefined) return lifetime - age(headers);
  const expires = headers.get("expires");
  if (expires === null) return undefined;
  // RFC 9111 §5.3: an invalid `Expires` means that the response is stale.
  const expiresAt = Date.parse(expires) / 1000;
  const date = Date.parse(headers.get("date") ?? "") / 1000;
  if (Number.isNaN(expiresAt)) return 0;
  return Math.floor(expiresAt - (Number.isNaN(date) ? now : date)) -
    age(headers);
}

function seconds(directives: string, name: string): number | undefined {
  const value = RegExp(`(?:^|[\\s,])${name}="?(\\d{1,10})`).exec(directives)
    ?.[1];
  return value === undefined ? undefined : Number(value);
}

function age(headers: Headers): number {
  const value = headers.get("age") ?? "";
  return /^\d{1,10}$/.test(value) ? Number(value) : 0;
}
