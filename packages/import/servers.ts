/**
 * The URL of a document's API.
 *
 * @module
 */
import { isObject, type JsonObject } from "../../src/core/json.ts";
import { isPublicAddress } from "../../src/core/auth/clients/fetch_bounds.ts";
import { isLoopback } from "../../src/core/net/url.ts";
import { usageFailure } from "../call/failure.ts";
import { type ApiDocument, ImportError, shortLine } from "./document.ts";
import { snakeCase, uniqueName } from "./names.ts";

/** A variable in a URL. The operator of the API chooses its value. */
export interface ServerVariable {
  name: string;
  /** The name in code and in settings: `API_VERSION`. */
  code: string;
  value: string;
  choices: readonly string[];
}

/** The URL of an API. */
export interface ServerAddress {
  /** The URL with `{name}` in it. */
  template: string;
  /** The URL with the default value of each variable. */
  api: string;
  variables: readonly ServerVariable[];
  notes: readonly string[];
}

/** The suffixes of the names of settings that a service may have. */
export const SETTING_SUFFIXES = [
  "URL",
  "TOKEN_URL",
  "CLIENT_ID",
  "CLIENT_SECRET",
];

/** Matches the characters that a URL template may have. */
const PLAIN = /^https?:\/\/[\w.:{}/~%@+,-]+$/i;
const VALUE = /^[\w.~:/-]+$/;

export const notAnApiAddress = (address: string) =>
  new ImportError(
    `${
      shortLine(address)
    } cannot be the address of an API: add --url https://….`,
  );

/**
 * Reads an author's `--url`. The query is omitted: a key in it would be written
 * into a file.
 *
 * @throws {Failure} if no API can be there
 */
export function givenAddress(
  given: string,
  { isServer }: { isServer?: boolean },
  note: (words: string) => void,
): string {
  if (isServer) {
    throw usageFailure("--url is for a document: an MCP server is at SOURCE.");
  }
  const bare = given.replace(/[?#].*/s, "");
  const url = URL.parse(bare);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    const shown = bare.replace(/\/\/[^/]*@/, "//");
    throw usageFailure(
      "--url must be the address of an API, as https://api.example.com/v1, " +
        `without a name or password: got ${JSON.stringify(shown)}.`,
    );
  }
  if (bare !== given) {
    note(`Note: Of --url, ${url.href} is used, without the rest.`);
  }
  return url.href.replace(/\/$/, "");
}

/**
 * Finds the URL of an API.
 *
 * @param given replaces the URL in the document
 * @throws {ImportError} if there is none, or one to which no key may be sent
 */
export function apiAddressOf(
  document: ApiDocument,
  servers: unknown,
  given?: string,
): ServerAddress {
  const list = Array.isArray(servers) ? servers.filter(isObject) : [];
  const server: JsonObject = given === undefined
    ? list[0] ?? { url: "/" }
    : { url: given };
  const variables = variablesOf(server);
  const filled = variables.reduce(
    (text, { name, value }) => text.replaceAll(`{${name}}`, value),
    `${server.url}`,
  );
  const isWhole = /^https?:\/\//i.test(filled);
  const url = URL.parse(filled, document.address);
  if (url === null || !isWhole && document.address === undefined) {
    throw new ImportError(
      "The document does not say where its API is: add --url https://….",
    );
  }
  const notes: string[] = [];
  const isInsecure = url.protocol === "http:" && !isLoopback(url);
  if (isInsecure) {
    url.protocol = "https:";
    const who = given === undefined ? "The document" : "--url";
    notes.push(`${who} says http: ${url.origin} is used, with https.`);
  }
  if (given === undefined && list.length > 1) {
    const others = list.slice(1, 4).map((it) => shortLine(it.url, 100)).join(
      ", ",
    );
    notes.push(`The document has other addresses, for --url: ${others}.`);
  }
  if (given === undefined && isLoopback(url)) {
    notes.push(`The document's API is on this machine: ${url.origin}.`);
  } else if (given === undefined && isPrivate(url)) {
    notes.push(`The document's API is in a private network: ${url.origin}.`);
  }
  if (!/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw notAnApiAddress(url.href);
  }
  const isCut = url.search !== "";
  url.search = url.hash = "";
  if (isCut) {
    notes.push(`Of the address, ${url.href} is used, without its query.`);
  }
  const api = url.href.replace(/\/$/, "");
  const own = `${server.url}`.replace(/\/$/, "").replace(
    /^http:/i,
    isInsecure ? "https:" : "http:",
  );
  const isTemplate = isWhole && variables.length > 0 && PLAIN.test(own);
  return {
    template: isTemplate ? own : api,
    api,
    variables: isTemplate ? variables : [],
    notes,
  };
}

/** True for an address or a name that only a private network knows. */
const isPrivate = ({ hostname }: URL) =>
  /\.\d+$|^\[/.test(hostname)
    ? !isPublicAddress(hostname.replace(/^\[|\]$/g, ""))
    : /^[^.]+$|\.(?:internal|local|lan|home\.arpa)$/.test(hostname);

function variablesOf(server: JsonObject): ServerVariable[] {
  const taken = new Set(SETTING_SUFFIXES);
  return Object.entries(Object(server.variables)).flatMap(([name, given]) => {
    const isUsed = `${server.url}`.includes(`{${name}}`);
    const value = `${Object(given).default ?? ""}`;
    if (!isUsed || !/^[\w-]{1,40}$/.test(name)) return [];
    const choices = isObject(given) && Array.isArray(given.enum)
      ? given.enum.map(String).filter((it) => VALUE.test(it))
      : [];
    const code = uniqueName(
      snakeCase(name).toUpperCase() || "PART",
      taken,
      "_",
    );
    if (VALUE.test(value)) return [{ name, code, value, choices }];
    throw new ImportError(
      `The server's variable ${name} has no usual value: add --url https://….`,
    );
  });
}
