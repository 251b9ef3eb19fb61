/**
 * Fetches the document at a stranger's URL, without being led elsewhere: the
 * name is looked up once, the address is checked, and the connection goes to
 * that address.
 *
 * @see draft-ietf-oauth-client-id-metadata-document §5, §8.6, §8.7
 * @module
 */
import { lookup } from "node:dns/promises";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { parseDocumentUrl } from "../rules/document_url.ts";
import { isPublicAddress } from "./address.ts";
import { DocumentError, NoDocument } from "./document_error.ts";
import { freshSeconds } from "./freshness.ts";

/** The time from the name's look-up to the last byte. */
const TIMEOUT_SECONDS = 5;

/**
 * The draft recommends 5 KB; documents in use are a little larger than that,
 * and key sets in them larger again.
 */
const MAX_DOCUMENT_BYTES = 16 * 1024;

/** Addresses of one name that are tried, one after the other. */
const MAX_ADDRESSES = 4;

/** A document, and the time until which it may be cached. */
export interface FetchedDocument {
  /** Parsed JSON. */
  document: unknown;
  /** Epoch seconds, from the answer's headers. A cache sets its own bounds. */
  expiresAt: number;
}

/** The connection's settings; the defaults are for the public Internet. */
export interface DocumentOptions {
  /** Epoch seconds. */
  now?: number;
  timeoutSeconds?: number;
  /** The addresses of a host name. */
  resolve?: (hostname: string) => Promise<readonly string[]>;
  /** The endpoint to connect to for an address that has been checked. */
  connect?: (address: string) => { host: string; port: number; ca?: string };
}

/**
 * Fetches a JSON document from a public https address.
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
  const { promise: late, reject } = Promise.withResolvers<never>();
  const abort = new AbortController();
  const timer = setTimeout(() => {
    abort.abort();
    reject(new Error(`No answer within ${timeoutSeconds} s`));
  }, timeoutSeconds * 1000);
  try {
    return await Promise.race([late, fetchWithin()]);
  } catch (cause) {
    throw new DocumentError({ cause });
  } finally {
    clearTimeout(timer);
  }

  async function fetchWithin(): Promise<FetchedDocument> {
    const target = parseDocumentUrl(url);
    const addresses = checkAddresses(await resolve(target.hostname));
    const message = await firstAnswer(addresses, target);
    const document = parseDocument(message, await readText(message));
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

/** Refuses all addresses of a name if one of them is not public. */
function checkAddresses(addresses: readonly string[]): readonly string[] {
  const wrong = addresses.find((address) => !isPublicAddress(address));
  if (wrong !== undefined) throw new Error(`${wrong} is not a public address`);
  if (addresses.length === 0) throw new Error("The name has no address");
  return addresses.slice(0, MAX_ADDRESSES);
}

/**
 * Sends one request to that address; the certificate must match the URL's name.
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
      // One document seldom follows another: no connection is kept.
      agent: false,
      signal,
    }, resolve).on("error", reject).end();
  });
}

async function readText(message: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of message as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    // Leaving the loop hangs up.
    if (bytes > MAX_DOCUMENT_BYTES) {
      throw new NoDocument(`It has more than ${MAX_DOCUMENT_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return await new Blob(chunks as Uint8Array<ArrayBuffer>[]).text();
}

function parseDocument(
  { statusCode, headers }: IncomingMessage,
  text: string,
): unknown {
  if (statusCode !== 200) {
    const says = `The answer was ${statusCode}`;
    // Redirects are final too: the document is at its own address (§5).
    throw isTemporary(statusCode) ? new Error(says) : new NoDocument(says);
  }
  const type = headers["content-type"]?.split(";")[0].trim().toLowerCase();
  if (!/^application\/(?:json|[\w.!#$&^+-]+\+json)$/.test(type ?? "")) {
    throw new NoDocument(`The answer's type was ${type}`);
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NoDocument("The answer was not JSON", { cause });
  }
}

function isTemporary(status = 500): boolean {
  return status >= 500 || status === 429 || status === 408;
}
