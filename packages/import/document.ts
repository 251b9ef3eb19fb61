/**
 * OpenAPI documents, read from a file or a URL, with limits; references are
 * resolved one at a time.
 *
 * @module
 */
import * as yaml from "js-yaml";
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { guardedFetch } from "../../src/features/mcp_servers/guarded_fetch.ts";
import { readAtMost } from "../../src/core/net/body_bytes.ts";
import { UNPRINTABLE } from "../../src/core/log/log_line.ts";
import { isLoopback } from "../../src/core/net/url.ts";
import { messageOf } from "../../src/core/thrown.ts";
import { Failure, usageFailure } from "../call/failure.ts";
import { CreateError } from "../create/files.ts";

/** The reason why a source, or a part of it, does not become tools. */
export class ImportError extends CreateError {
  override name = "ImportError";
}

/** The maximum size in bytes of a document. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * The maximum number of values in a document. A value that YAML repeats counts
 * each time.
 */
const MAX_VALUES = 5_000_000;

const MAX_DEPTH = 200;

/** The time limit for fetching a document. */
const TIMEOUT_MILLISECONDS = 60_000;

/**
 * The number of parts of any document that all its tools together may read. A
 * part that several tools refer to counts once for each.
 */
const MAX_PARTS = 600_000;

/** The number of characters of a document that add one more part. */
const CHARACTERS_OF_PART = 4;

/** A document, with its references unresolved. */
export interface ApiDocument {
  /** The whole document: OpenAPI 3, or a JSON Schema with definitions. */
  root: JsonObject;
  /** The URL of the document, against which relative servers are resolved. */
  address?: URL;
  /** The number of parts that its tools may still read; unlimited without it. */
  parts?: { left: number };
}

/**
 * Counts parts of a document that a tool reads.
 *
 * @throws {Failure} for too many: no item alone is at fault
 */
export function countParts(
  { parts }: Pick<ApiDocument, "parts">,
  count: number,
): void {
  if (parts === undefined || (parts.left -= count) >= 0) return;
  throw usageFailure(
    "Its operations repeat too many parts of the document to look at them " +
      "all: name a few with --pick.",
  );
}

/**
 * Reads the text of a file or of a URL.
 *
 * @throws {ImportError} unless the source exists, is https or on loopback, and
 * is short enough
 */
export async function readSource(
  source: string,
  send = fetch,
): Promise<{ text: string; address?: URL }> {
  const address = /^https?:\/\//i.test(source) ? URL.parse(source) : null;
  const bytes = address === null
    ? await readFile(source)
    : await readAddress(address, send);
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return { text, ...address && { address } };
  } catch {
    throw new ImportError(`${source} is not text in UTF-8.`);
  }
}

async function readFile(path: string): Promise<Uint8Array> {
  try {
    const { size, isFile, isDirectory } = await Deno.stat(path);
    if (isDirectory) {
      throw new ImportError(`${path} is a folder: name the document in it.`);
    }
    if (!isFile) throw new ImportError(`${path} is no file.`);
    if (size > MAX_BYTES) throw tooLong(path);
    return await Deno.readFile(path);
  } catch (error) {
    if (error instanceof ImportError) throw error;
    const isMissing = error instanceof Deno.errors.NotFound;
    throw new ImportError(
      isMissing
        ? `There is no file ${path}.`
        : `${path} cannot be read: ${messageOf(error)}.`,
    );
  }
}

const tooLong = (source: string) =>
  new ImportError(`${source} is longer than ${MAX_BYTES} bytes.`);

/** Fetches the bytes at a URL. @throws {ImportError} */
async function readAddress(
  address: URL,
  send: typeof fetch,
): Promise<Uint8Array> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MILLISECONDS);
    const response = await follow(
      address,
      guardedFetch({ api: address.href }, send),
      signal,
    );
    if (!response.ok) {
      await response.body?.cancel();
      throw new ImportError(`${address} answered ${response.status}.`);
    }
    const body = response.body ?? new Blob().stream();
    const long = () => tooLong(address.href);
    return await (await readAtMost(body, MAX_BYTES, long)).bytes();
  } catch (error) {
    if (error instanceof ImportError) throw error;
    throw new ImportError(`${address} did not answer: ${messageOf(error)}.`);
  }
}

/**
 * Fetches a URL, and follows its redirects. No redirect may lead to http,
 * except on loopback. None may lead into a private network, unless the first
 * URL is in one.
 *
 * @throws {ImportError}
 */
async function follow(
  address: URL,
  send: typeof fetch,
  signal: AbortSignal,
  hops = 0,
): Promise<Response> {
  if (address.protocol !== "https:" && !isLoopback(address)) {
    throw new ImportError(
      `${address.origin} must be https: what comes by http may have been changed.`,
    );
  }
  const headers = { accept: "application/json, application/yaml, */*;q=0.5" };
  const response = await send(address, {
    signal,
    headers,
    redirect: "manual",
  });
  const place = response.headers.get("location") ?? "";
  const next = place && URL.parse(place, address);
  const isLed = /^30[12378]$/.test(`${response.status}`) && hops < MAX_HOPS;
  if (!next || !isLed) return response;
  await response.body?.cancel();
  return follow(next, send, signal, hops + 1);
}

/**
 * Parses a document.
 *
 * @param source the name of the document in errors
 * @throws {ImportError} unless the text is a readable OpenAPI document
 */
export async function parseOpenApi(
  text: string,
  source: string,
  address?: URL,
): Promise<ApiDocument> {
  const parsed = parseText(text, source);
  checkSize(parsed, source);
  const root = await upgraded(parsed, source);
  if (!isObject(root.paths)) {
    const more = isObject(root.webhooks) ? ", only calls to you" : "";
    throw new ImportError(
      `${source} has no paths${more}: there is nothing to import.`,
    );
  }
  const left = MAX_PARTS + Math.floor(text.length / CHARACTERS_OF_PART);
  return { root, ...address && { address }, parts: { left } };
}

/** The YAML schema of documents: the values of JSON, and merge keys (`<<`). */
const YAML = yaml.JSON_SCHEMA.withTags(yaml.mergeTag);

function parseText(text: string, source: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = /^\s*[{[]/.test(text)
      ? JSON.parse(text.replace(/^\uFEFF/, ""))
      : yaml.load(text, { schema: YAML });
  } catch (error) {
    const reason = messageOf(error).split("\n")[0].slice(0, 200);
    throw new ImportError(
      `${source} is neither JSON nor YAML: ${reason}.${serverAdvice(source)}`,
    );
  }
  if (isObject(parsed)) return parsed;
  throw new ImportError(
    `${source} is no OpenAPI document.${serverAdvice(source)}`,
  );
}

/** Tells the author of an address how an MCP server is imported. */
const serverAdvice = (source: string) =>
  /^https?:/i.test(source) ? " The address of an MCP server ends in /mcp." : "";

/**
 * Checks that a document does not have too many values, or too many levels.
 *
 * @throws {ImportError}
 */
function checkSize(root: JsonObject, source: string): void {
  let left = MAX_VALUES;
  const visit = (value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH) {
      throw new ImportError(`${source} is nested deeper than ${MAX_DEPTH}.`);
    }
    if (left-- === 0) {
      throw new ImportError(`${source} has more than ${MAX_VALUES} values.`);
    }
    if (typeof value !== "object" || value === null) return;
    for (const member of Object.values(value)) visit(member, depth + 1);
  };
  visit(root, 0);
}

/** Converts a document to OpenAPI 3. @throws {ImportError} for another kind */
async function upgraded(root: JsonObject, source: string): Promise<JsonObject> {
  const [openapi, swagger] = [root.openapi, root.swagger]
    .map((it) => typeof it === "object" ? "" : `${it}`);
  if (/^3\.[012](\.|$)/.test(openapi)) return root;
  if (swagger !== "2.0") {
    throw new ImportError(
      `${source} must be an OpenAPI document of 3.0, 3.1, 3.2 or Swagger 2.0.`,
    );
  }
  // The upgrader is imported only here, so that no running server loads it.
  const { upgradeFromTwoToThree } = await import(
    // deno-lint-ignore no-import-prefix
    "npm:@scalar/openapi-upgrader@^0.1.11/2.0-to-3.0"
  );
  try {
    const copy = structuredClone(root);
    markLists(copy);
    const made: unknown = upgradeFromTwoToThree(copy);
    addForms(root, made as JsonObject);
    return made as JsonObject;
  } catch (error) {
    throw new ImportError(
      `${source} cannot be read as Swagger 2.0: ${messageOf(error)}`,
    );
  }
}

/**
 * Finds parameters with lists that OpenAPI 3 cannot express. Gives each an `in`
 * that OpenAPI does not know, so that the import leaves the parameter out.
 */
function markLists(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  const one: JsonObject = Object(value);
  const { in: place, collectionFormat: form } = one;
  const isNamed = place === "query" || place === "formData";
  const isLost = form === "tsv" ||
    !isNamed && (form === "ssv" || form === "pipes");
  // YAML may have one object in several places.
  if (isLost && /^\w+$/.test(`${place ?? ""}`)) one.in = `${place} as ${form}`;
  for (const member of Object.values(one)) markLists(member);
}

/** The OpenAPI 3 `style` for each `collectionFormat` of a list in a form. */
const LISTS = new Map<unknown, string>([
  ["csv", "form"],
  ["ssv", "spaceDelimited"],
  ["pipes", "pipeDelimited"],
]);

/**
 * Adds the facts about members of forms that the upgrader drops: choices,
 * bounds, and how a list is sent.
 */
function addForms({ paths }: JsonObject, made: JsonObject): void {
  for (const [path, item] of Object.entries(Object(paths))) {
    for (const [method, operation] of Object.entries(Object(item))) {
      const { requestBody } = Object(Object(Object(made.paths)[path])[method]);
      const forms = Object.values(Object(Object(requestBody).content));
      for (const one of Object(operation).parameters ?? []) {
        const { name, type, required: _required, ...words } = Object(one);
        if (words.in !== "formData") continue;
        for (const form of forms) {
          const { properties } = Object(Object(form).schema);
          const members = new Map(Object.entries(Object(properties)));
          Object.assign(Object(members.get(name)), words);
          const style = LISTS.get(words.collectionFormat ?? "csv");
          if (type !== "array" || style === undefined) continue;
          const encoding = [name, { style, explode: false }];
          Object(form).encoding = Object.fromEntries([
            ...Object.entries(Object(Object(form).encoding)),
            encoding,
          ]);
        }
      }
    }
  }
}

/** The maximum number of references, or of redirects, in a row. */
const MAX_HOPS = 20;

/**
 * Resolves a value that is a reference (`$ref`), and returns any other value as
 * it is.
 *
 * @throws {ImportError} if the reference points to nothing, to itself, or out
 * of the document
 */
export function resolveReference(
  document: Pick<ApiDocument, "root">,
  value: unknown,
): unknown {
  let found = value;
  for (let hops = 0; hops <= MAX_HOPS; hops++) {
    if (!isObject(found) || typeof found.$ref !== "string") return found;
    found = targetAt(document, found.$ref);
  }
  throw new ImportError(`${shortLine(Object(value).$ref)} refers to itself.`);
}

/**
 * Returns the result of a function. Undefined if it throws an {@linkcode
 * ImportError}.
 */
export function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof ImportError) return undefined;
    throw error;
  }
}

/**
 * Returns the result of a function that reads what a stranger wrote. A value of
 * another type than the specification names is an error of the source, not of
 * this program.
 *
 * @throws {ImportError}
 */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new ImportError(`It cannot be read: ${shortLine(messageOf(error))}.`);
  }
}

/**
 * Finds the target of a reference within the document (`#/…`).
 *
 * @throws {ImportError}
 */
export function targetAt(
  { root }: Pick<ApiDocument, "root">,
  ref: string,
): unknown {
  if (!ref.startsWith("#")) {
    throw new ImportError(
      `It refers to another document, ${
        shortLine(ref)
      }: join them into one first.`,
    );
  }
  let found: unknown = root;
  for (const part of ref.slice(1).split("/").slice(1)) {
    const name = decodeSegment(part);
    const within = Object(found);
    found = Object.hasOwn(within, name) ? within[name] : undefined;
  }
  if (found !== undefined && (ref === "#" || ref.startsWith("#/"))) {
    return found;
  }
  throw new ImportError(`It refers to ${shortLine(ref)}, which is not there.`);
}

/** Decodes a segment of a JSON Pointer in a URL (RFC 6901 §6). */
export function decodeSegment(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // The part is not percent-encoded, and is used as it is.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Shortens an untrusted text to one line without invisible characters. */
export function shortLine(text: unknown, most = 200): string {
  const line = `${text}`.slice(0, 4 * most)
    .replaceAll(UNPRINTABLE, " ").replaceAll(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}
