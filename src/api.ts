/**
 * Calls of an HTTP API: parameters and bodies as OpenAPI has them, and answers
 * as tools give them to a model. What `deno task ts import` writes is made of
 * these, and reads like what you would write yourself.
 *
 * @example
 * ```ts
 * import { personalKey, tool, z } from "@tool-server/tool-server";
 * import { callApi, styled } from "@tool-server/tool-server/api";
 *
 * const tickets = personalKey("tickets", { api: "https://api.example.com/v2" });
 *
 * tool({
 *   name: "find_tickets",
 *   input: z.object({ project: z.string(), tags: z.array(z.string()) }),
 *   needs: { tickets },
 *   run: ({ project, tags }, { needs, signal }) =>
 *     callApi(needs.tickets, "GET /projects/{project}/tickets", {
 *       path: { project },
 *       query: { tags: styled(tags, "pipeDelimited") },
 *       signal,
 *     }),
 * });
 * ```
 *
 * @module
 */
import type { AccountFetch } from "./authoring/account.ts";
import {
  METHOD_OVERRIDE,
  type ParameterValues,
  plain,
  printPairs,
  printValue,
  Styled,
  styleOf,
} from "./authoring/parameter_style.ts";
import { isAddress } from "./authoring/personal_key.ts";
import { ToolError } from "./authoring/tool.ts";
import { unlessAborted } from "./core/clock.ts";
import { isObject } from "./core/json.ts";
import {
  type ApiClient,
  clientTokens,
} from "./core/mcp/exchange/client_tokens.ts";
import { GivenKeys } from "./core/mcp/exchange/given_keys.ts";
import { countHeldBytes } from "./core/mcp/exchange/held_answers.ts";
import { printMultipart } from "./core/net/parts.ts";
import { isSafeMethod } from "./core/net/send_once.ts";
import {
  accountFetch,
  MAY_HAVE_SUCCEEDED,
} from "./core/provider/account_fetch.ts";

export { type ApiClient } from "./core/mcp/exchange/client_tokens.ts";
export {
  type ParameterStyle,
  type ParameterValues,
  Styled,
  styled,
  type StyleOptions,
} from "./authoring/parameter_style.ts";

/** A request to an API, except its method and path. */
export interface ApiRequest {
  /** The values of `{name}` in the path; `simple` by default. */
  path?: ParameterValues;
  /** The query; `form` by default. */
  query?: ParameterValues;
  /** Headers; `simple` by default. */
  headers?: ParameterValues;
  /** Cookies; `form` by default. */
  cookies?: ParameterValues;
  /** A body sent as JSON. */
  json?: unknown;
  /** The members of a form body (`x-www-form-urlencoded`). */
  form?: unknown;
  /** The members of a body in parts (`multipart/form-data`). */
  multipart?: unknown;
  /** A body that is text. */
  text?: string;
  /** The media type of the body, if not the default. */
  contentType?: string;
  /** Ends the request when the call ends. */
  signal?: AbortSignal;
}

/** The API to call: an account of `needs`, or {@linkcode httpApi}'s result. */
export interface Api {
  /** Sends a request within the API. */
  fetch: AccountFetch;
  /** The name for models and people, in errors. */
  title?: string;
}

/** An API with the keys of its requests, which are hidden in results. */
interface OwnApi extends Api {
  /** The keys and tokens of a person's account, or of the server. */
  given?: GivenKeys;
  /** The names of the query parameters of every request. */
  ownQuery: ReadonlySet<string>;
}

/** Hides keys in the beginning of a text; see `GivenKeys.hideStart()`. */
type Hide = (text: string, most: number) => string;

/** The maximum length in characters of a tool's result for a model. */
const MAX_ANSWER = 50_000;

/** The maximum length in characters of the service's message in an error. */
const MAX_WORDS = 500;

/** The methods of OpenAPI, and a path that begins with a slash. */
const ROUTE = /^([A-Za-z]+) (\/.*)$/;

/**
 * Calls an API, and returns its response as text: unchanged JSON of at most
 * 50,000 characters, and the next page's parameters from the `Link` header. Of
 * a file that is no text, the result names the type and the size.
 *
 * @param route the method and the path: `GET /tickets/{id}`
 * @throws {ToolError} with the service's message if it refuses, or answers with
 * a web page that was not asked for by an `accept` header
 */
export async function callApi(
  api: Api,
  route: string,
  request: ApiRequest = {},
): Promise<string> {
  const [, method, template] = ROUTE.exec(route) ?? [];
  if (template === undefined) {
    throw new TypeError(`callApi: ${route} must be a method and a path`);
  }
  const { title = "The service", given, ownQuery }: Partial<OwnApi> = api;
  const { body, type } = bodyOf(request);
  const address = addressOf(template, request);
  const headers = headersOf(request, type);
  const response = await api.fetch(address, {
    method: method.toUpperCase(),
    headers,
    body,
    signal: request.signal,
  });
  const hide: Hide = (text, most) =>
    given?.hideStart(text, most) ?? text.slice(0, most);
  const unsure = isSafeMethod(method) ? "" : ` ${MAY_HAVE_SUCCEEDED}`;
  if (!response.ok) throw await refusalOf(title, response, hide, unsure);
  const next = nextOf(response, address, ownQuery);
  const bytes = await response.arrayBuffer().catch((cause) => {
    if (cause instanceof ToolError || request.signal?.aborted) throw cause;
    throw new ToolError(`${title} broke off its answer.${unsure}`, { cause });
  });
  const { status } = response;
  const answered = mediaTypeOf(response);
  const whole = new TextDecoder().decode(bytes);
  if (BINARY.test(answered) || whole.includes("\0")) {
    return `Done: ${status}. The answer is no text, and is not shown: ` +
      `${answered || "a file"} of ${bytes.byteLength} bytes.`;
  }
  const isAsked = /html|text\/\*/i.test(headers.get("accept")!);
  if (/html/.test(answered) && PAGE.test(whole) && !isAsked) {
    throw new ToolError(
      `${title} answered ${status} with a web page, not with data.${unsure}`,
    );
  }
  return bounded(whole, status, next && hide(next, MAX_ANSWER), hide);
}

/** Matches the media types of files that are no text. */
const BINARY =
  /^(?:(?:image(?!\/svg)|audio|video|font)\/|application\/(?:pdf|zip|gzip|x-(?:tar|7z|gzip|zip)|msword|vnd\.(?:ms-|openxmlformats|oasis)))/;

/** Matches a whole HTML document, as opposed to a part of one. */
const PAGE = /^\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b/is;

/** Returns the media type of a response, without parameters. */
function mediaTypeOf({ headers }: Response): string {
  const [type] = (headers.get("content-type") ?? "").split(";");
  return /^\s*[\w.+-]{1,60}\/[\w.+-]{1,100}\s*$/.test(type)
    ? type.trim().toLowerCase()
    : "";
}

/** Matches a path segment that is `.`, or `..` before or after decoding. */
const DOTS = /^(?:\.|(?:\.|%(?:25)*2e){2}(?:[;%].*)?)$/is;

/** Makes the path and the query of a request. @throws {ToolError} */
function addressOf(
  template: string,
  { path = {}, query = {} }: ApiRequest,
): string {
  const filled = template.replaceAll(/\{([^{}]+)\}/g, (_, name) => {
    const { value, style, options } = styleOf(path[name], "simple");
    // Even with `allowReserved`, a value does not leave its part of the path.
    const text = printValue(name, value, style, options)
      .replaceAll(/[/?]/g, encodeURIComponent);
    if (text !== "") return text;
    throw new ToolError(`${name} must not be empty.`);
  });
  // URL parsers resolve these, and the request goes elsewhere (RFC 3986 §5.2.4);
  // some servers do so after they have decoded the path.
  // They leave out line ends and tabs (URL Standard §4.4).
  const parts = filled.replaceAll(/%(?:25)*0[9ad]/gi, "")
    .split(/\/|%(?:25)*(?:2f|5c)/i);
  if (parts.some((part) => DOTS.test(part))) {
    throw new ToolError("A part of the path must be neither . nor ..");
  }
  const search = printPairs(query);
  const mark = filled.includes("?") ? "&" : "?";
  return search === "" ? filled : `${filled}${mark}${search}`;
}

/** Makes the headers of a request. @throws {ToolError} for a wrong value */
function headersOf(
  { headers: given = {}, cookies = {}, contentType, multipart }: ApiRequest,
  type: string | undefined,
): Headers {
  const headers = new Headers({ accept: "application/json, */*;q=0.5" });
  if (type !== undefined) {
    // That of parts names their boundary.
    headers.set("content-type", multipart ? type : contentType ?? type);
  }
  for (const [name, value] of Object.entries(given)) {
    const { value: own, options } = styleOf(value, "simple");
    if (own === undefined || own === null) continue;
    const text = headerText(own, options.explode === true);
    try {
      headers.set(name, text);
    } catch {
      throw new ToolError(`${name} must be one line of Latin characters.`);
    }
  }
  const cookie = printPairs(cookies).replaceAll("&", "; ");
  if (cookie !== "") headers.set("cookie", cookie);
  return headers;
}

/** Formats a header's value as `simple`, without encoding (RFC 9110 §5.5). */
function headerText(value: unknown, explode: boolean): string {
  if (Array.isArray(value)) return value.map(plain).join(",");
  if (!isObject(value)) return plain(value);
  return Object.entries(value).map(([key, part]) =>
    `${key}${explode ? "=" : ","}${plain(part)}`
  ).join(",");
}

/**
 * Makes the body of a request, and its media type.
 *
 * @throws {ToolError} for a member that would change the method
 */
function bodyOf(
  { json, form, multipart, text }: ApiRequest,
): { body?: string; type?: string } {
  const given = json ?? form ?? multipart;
  const names = isObject(given) ? Object.keys(given) : [];
  const override = names.find((it) => METHOD_OVERRIDE.test(it));
  if (override !== undefined) {
    throw new ToolError(`${override} cannot be sent: leave it out.`);
  }
  if (json !== undefined) {
    return { body: JSON.stringify(json), type: "application/json" };
  }
  if (form !== undefined) {
    return {
      body: printPairs(asForm(form)),
      type: "application/x-www-form-urlencoded",
    };
  }
  if (text !== undefined) return { body: text, type: "text/plain" };
  if (multipart === undefined) return {};
  const members = Object.entries(Object(multipart));
  return printMultipart(
    members.flatMap(([name, value]) =>
      [value].flat().filter((it) => it !== undefined && it !== null)
        // An object is JSON by default (OpenAPI, Encoding Object).
        .map((it) =>
          isObject(it)
            ? { name, value: JSON.stringify(it), type: "application/json" }
            : { name, value: plain(it) }
        )
    ),
  );
}

/** Formats objects in a form as JSON, unless they have a style. */
function asForm(form: unknown): ParameterValues {
  const members = Object.entries(Object(form)).map(([name, value]) => [
    name,
    isObject(value) && !(value instanceof Styled)
      ? JSON.stringify(value)
      : value,
  ]);
  return Object.fromEntries(members);
}

/** Limits the text of a response, and adds the parameters of the next page. */
function bounded(
  whole: string,
  status: number,
  next: string | undefined,
  hide: Hide,
): string {
  const left = whole.length - MAX_ANSWER;
  const text = hide(whole, left > 0 ? MAX_ANSWER : Infinity);
  const shown = left > 0
    ? `${text}\n\n(${left} more characters were left out: ask for less.)`
    : text || `Done: ${status}, without a body.`;
  return next === undefined ? shown : `${shown}\n\nThe next page: ${next}`;
}

/**
 * Finds the next page in the `Link` header (RFC 8288 §3): its new query
 * parameters, or its path if it has none. Undefined if it is on another origin.
 *
 * @param own the query parameters of every request, which are omitted: they may
 * be keys
 */
function nextOf(
  response: Response,
  address: string,
  own: OwnApi["ownQuery"] = new Set(),
): string | undefined {
  const links = response.headers.get("link") ?? "";
  const [, target] =
    /<([^<>]{1,2000})>(?:\s*;[^,<>]*)?;\s*rel="?next"?(?:[\s;,]|$)/i
      .exec(links.slice(0, 10_000)) ?? [];
  if (target === undefined) return undefined;
  const base = new URL(response.url || address, "https://unknown.invalid");
  const url = URL.parse(target, base);
  if (url === null || response.url && url.origin !== base.origin) {
    return undefined;
  }
  const parameters = url.search.slice(1).split("&").filter((parameter) => {
    const [[name, value] = ["", ""]] = new URLSearchParams(parameter);
    return name !== "" && !own.has(name) &&
      !base.searchParams.has(name, value);
  });
  if (parameters.length > 0) return parameters.join("&");
  return url.pathname === base.pathname ? undefined : url.pathname;
}

/** Makes an error for the model from the service's refusal. */
async function refusalOf(
  title: string,
  response: Response,
  hide: Hide,
  unsure: string,
): Promise<ToolError> {
  const { status, headers } = response;
  const words = wordsOf(await response.text().catch(() => ""), hide);
  const after = headers.get("retry-after") ?? "";
  const again = /^\d{1,9}$/.test(after)
    ? ` Try again in ${after} seconds.`
    : Number.isNaN(Date.parse(after))
    ? ""
    : ` Try again after ${new Date(after).toUTCString()}.`;
  const stop = again && !/[.!?…]$/.test(words) ? "." : "";
  const said = words === "" ? "." : `: ${words}${stop}`;
  const end = status < 500 ? "" : unsure;
  return new ToolError(`${title} answered ${status}${said}${again}${end}`);
}

/** The members of an error response in which services put their message. */
const WORDS =
  "detail message error_description description error errors title reason"
    .split(" ");

/** Finds the message in a service's error, cut to 500 characters on a line. */
function wordsOf(text: string, hide: Hide): string {
  if (/^\s*</.test(text)) return "";
  let found: unknown = text;
  try {
    if (text.length > MAX_ANSWER) throw new RangeError();
    found = sayingOf(JSON.parse(text), 0) ?? text;
  } catch {
    // The text is no JSON, or so long that it could have a million values.
  }
  return hide(`${found}`, MAX_ANSWER).replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .slice(0, MAX_WORDS).trim();
}

function sayingOf(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return value;
  if (depth > 4 || typeof value !== "object" || value === null) {
    return undefined;
  }
  const parts = Array.isArray(value)
    ? value.slice(0, 3)
    : WORDS.map((name) => Object.hasOwn(value, name) && value[name as never]);
  const said = parts.map((part) => sayingOf(part, depth + 1))
    .filter((it) => it !== undefined && it !== "");
  return Array.isArray(value) ? said.join("; ") || undefined : said[0];
}

/** The options of {@linkcode httpApi}. */
export interface HttpApiOptions {
  /** The name in spans, and in errors if there is no `title`. */
  name: string;
  /** The name for models and people. */
  title?: string;
  /** The URL of the API: https, or http on loopback. */
  api: string;
  /** The server's own key or token, for the header. */
  key?: string;
  /** The header of the key; `authorization` by default. */
  header?: string;
  /** The word before the key; `Bearer` in `authorization`, otherwise none. */
  scheme?: string;
  /** More headers of every request, such as a second key. */
  headers?: Readonly<Record<string, string>>;
  /** Query parameters of every request, for a key that must be in the URL. */
  query?: Readonly<Record<string, string>>;
  /** Cookies of every request, for a key that must be in a cookie. */
  cookies?: Readonly<Record<string, string>>;
  /** The OAuth client whose tokens are used, in place of a `key`. */
  client?: ApiClient;
}

/**
 * Makes an API that all callers use with the server's own key, for `start` of a
 * `service()`. Requests go to its address alone, and to no other after a
 * redirect.
 *
 * @example
 * ```ts
 * import { secret, service, z } from "@tool-server/tool-server";
 * import { httpApi } from "@tool-server/tool-server/api";
 *
 * export const weather = service({
 *   name: "weather",
 *   settings: { WEATHER_KEY: secret(z.string().describe("Key of the API.")) },
 *   start: ({ settings }) =>
 *     httpApi({
 *       name: "weather",
 *       api: "https://api.example.com/v1",
 *       query: { appid: settings.WEATHER_KEY },
 *     }),
 * });
 * ```
 * @throws {TypeError} for an address to which no key may go
 */
export function httpApi(options: HttpApiOptions): Api {
  const { name, title = name, api, key, client, header, scheme } = options;
  if (!isAddress(api) || client && !isAddress(client.token)) {
    throw new TypeError(
      `httpApi(${JSON.stringify(name)}) must have the https address of an API`,
    );
  }
  const source = `${name} ${api}`;
  const tokens = client && clientTokens(source, title, client);
  const kind = "personalKey";
  const own = { kind, name, title, api, header, scheme } as const;
  if (key !== undefined) GivenKeys.hideOwn(source, key, own);
  if (client) GivenKeys.hideOwn(source, client.secret);
  const { query = {}, headers = {}, cookies = {} } = options;
  const secrets = [query, headers, cookies].flatMap(Object.values);
  const search = printPairs(query);
  const cookie = printPairs(cookies).replaceAll("&", "; ");
  return {
    title,
    ownQuery: new Set(Object.keys(query)),
    given: new GivenKeys(source).addSecrets(secrets),
    async fetch(path, init = {}) {
      let used: Promise<string> | undefined;
      const reveal = async () =>
        tokens ? await unlessAborted(init.signal, used = tokens.get()) : key;
      const send = accountFetch(own, reveal);
      const all = new Headers(init.headers);
      for (const [name, value] of Object.entries(headers)) all.set(name, value);
      const sent = joined(cookie, all.get("cookie") ?? "", "; ");
      if (sent !== "") all.set("cookie", sent);
      const [, route, asked = ""] = /^([^?]*)\??(.*)$/s.exec(`${path}`)!;
      const at = search && `${route}?${joined(search, asked, "&")}` || path;
      // The caller is not known here, so only the total of all is bounded.
      const held = { ...init, headers: all, hold: () => countHeldBytes() };
      const response = await send(at, held);
      if (response.status !== 401 || !tokens) return response;
      const isRenewed = tokens.refuse(used);
      if (!isRenewed || init.body instanceof ReadableStream) return response;
      await response.body?.cancel();
      return await send(at, held);
    },
  } as OwnApi;
}

/**
 * Joins the server's own parameters and those of a request, except of the same
 * names: some services use the first of two, others the last.
 */
function joined(own: string, others: string, sign: string): string {
  const nameOf = (pair: string) => pair.split("=")[0].toLowerCase();
  const names = new Set(own.split(sign).map(nameOf));
  const kept = others.split(sign).filter((it) => !names.has(nameOf(it)));
  return [...kept, own].filter(Boolean).join(sign);
}
