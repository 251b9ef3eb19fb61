/**
 * `fetch` for the API of one service, with a person's key or token for it.
 * Sends the key only to URLs within that API.
 *
 * @module
 */
import {
  type AccountFetch,
  type AccountService,
  type PersonalKey,
  titleOf,
} from "../../authoring/account.ts";
import type { BoundedRequest } from "../caller.ts";
import { ToolError } from "../../authoring/tool.ts";
import { base64 } from "../crypto/crypto.ts";
import {
  boundedResponse,
  checkMaxBytes,
  MAX_TOOL_ANSWER_BYTES,
  type ToolFetchOptions,
} from "../net/bounded_answer.ts";
import { isSafeMethod, sendOnce } from "../net/send_once.ts";
import { telemetry } from "../telemetry/current.ts";
import { nameAndMessageOf, reasonsOf, withoutQueries } from "../thrown.ts";

/** The maximum number of redirects, all within the service's API. */
const MAX_REDIRECTS = 5;

/** The maximum time until the headers of a response, in milliseconds. */
const TIMEOUT_MILLISECONDS = 60_000;

/** Text for a model after a request that may have succeeded. */
export const MAY_HAVE_SUCCEEDED =
  "It may have been done all the same: check before you repeat it.";

/**
 * Adds to a `ToolError` that a request may have succeeded, unless it says so.
 * Returns any other error as it is.
 */
export function mayHaveSucceeded<E>(error: E): E | ToolError {
  if (!(error instanceof ToolError)) return error;
  const { message, cause } = error;
  return message.endsWith(MAY_HAVE_SUCCEEDED)
    ? error
    : new ToolError(`${message} ${MAY_HAVE_SUCCEEDED}`, { cause });
}

/**
 * Makes the `fetch` of a service.
 *
 * @param reveal returns the key; undefined if the request needs none
 */
export function accountFetch(
  service: AccountService,
  reveal: () => Promise<string | undefined>,
  { send = sendOnce, onStatus }: {
    /** Sends a request; {@linkcode sendOnce} by default. */
    send?: (request: Request, init: RequestInit) => Promise<Response>;
    /** Called with the status of every response. */
    onStatus?: (status: number) => void;
  } = {},
): AccountFetch {
  const { name } = service;
  const { header = "authorization", scheme: given }: Partial<PersonalKey> =
    service.kind === "personalKey" ? service : {};
  const isUsual = header.toLowerCase() === "authorization";
  const scheme = given ?? (isUsual ? "Bearer" : "");
  const title = titleOf(service);

  async function sendInTime(
    url: URL,
    init: RequestInit,
    { isSafe, isFirst }: { isSafe: boolean; isFirst: boolean },
  ): Promise<Response> {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, init.signal ?? abort.signal]);
    const own: RequestInit = { ...init, redirect: "manual", signal };
    // The constructor throws if `init` is invalid.
    const request = new Request(url, own);
    // The time-out ends with the headers: a body may take longer.
    const timer = setTimeout(() => abort.abort(), TIMEOUT_MILLISECONDS);
    try {
      return await send(request, own);
    } catch (cause) {
      if (init.signal?.aborted) throw cause;
      // Deno's error messages contain the whole URL.
      const words = withoutQueries(
        nameAndMessageOf(reasonsOf(cause).at(-1) ?? cause),
      );
      // Without a connection, nothing was sent, except before a redirect.
      const isUndone = isSafe || isFirst &&
          /client error \(Connect\)/.test(words);
      const next = isUndone ? ": try again later." : `. ${MAY_HAVE_SUCCEEDED}`;
      const options = { cause: new Error(words) };
      throw new ToolError(`${title} did not answer${next}`, options);
    } finally {
      clearTimeout(timer);
    }
  }

  async function call(
    input: string | URL,
    {
      maxBytes = MAX_TOOL_ANSWER_BYTES,
      hold,
      isSafe: isHarmless,
      ...init
    }: BoundedRequest & ToolFetchOptions = {},
  ): Promise<Response> {
    const isSafe = isHarmless ?? isSafeMethod(init.method);
    const failure = (words: string) => {
      const error = new ToolError(`${title} ${words}.`);
      return isSafe ? error : mayHaveSucceeded(error);
    };
    checkMaxBytes(maxBytes, `needs.${name}.fetch`);
    const headers = new Headers(init.headers);
    for (const own of [header, "authorization"]) {
      if (!headers.has(own)) continue;
      throw new TypeError(
        `needs.${name}.fetch: ${own} is the server's to set: leave it out`,
      );
    }
    let url = addressAt(service, input);
    const key = await reveal();
    if (key !== undefined) {
      const sent = scheme === "Basic" ? basicOf(key) : key;
      headers.set(header, scheme === "" ? sent : `${scheme} ${sent}`);
    }
    let request: RequestInit = { ...init, headers };
    for (let followed = 0;; followed++) {
      const response = await sendInTime(url, request, {
        isSafe,
        isFirst: followed === 0,
      });
      const location = response.headers.get("location");
      const isRedirect = location !== null &&
        [301, 302, 303, 307, 308].includes(response.status);
      if (!isRedirect || init.redirect === "manual") {
        onStatus?.(response.status);
        return boundedResponse(
          response,
          maxBytes,
          (what) => failure(`answered with ${what}`),
          hold?.(),
          init.signal,
        );
      }
      await response.body?.cancel();
      if (init.redirect === "error") throw new TypeError("A redirect came");
      const next = URL.parse(location, url);
      if (!next || !isWithin(service, next) || followed === MAX_REDIRECTS) {
        throw failure(
          `leads to ${next?.origin ?? "no address"}, ` +
            `where its key does not go: only to ${service.api}`,
        );
      }
      url = next;
      request = redirected(request, response.status);
    }
  }

  return (input, init) =>
    telemetry
      ? telemetry.accountCall(name, () => call(input, init))
      : call(input, init);
}

/**
 * Encodes `name:password` in base64 (RFC 7617 §2), unless it already is.
 */
function basicOf(key: string): string {
  return key.includes(":") ? base64(new TextEncoder().encode(key)) : key;
}

/**
 * Returns the `init` for the request after a redirect (Fetch Standard,
 * HTTP-redirect fetch).
 */
function redirected(
  { body, method = "GET", headers, ...init }: RequestInit,
  status: number,
): RequestInit {
  const isPost = method.toUpperCase() === "POST";
  const isGet = status === 303 && !/^(GET|HEAD)$/i.test(method) ||
    (status === 301 || status === 302) && isPost;
  if (isGet) {
    const kept = new Headers(headers);
    for (const name of [...kept.keys()]) {
      if (name.startsWith("content-")) kept.delete(name);
    }
    return { ...init, method: "GET", headers: kept };
  }
  if (!(body instanceof ReadableStream)) {
    return { ...init, method, headers, body };
  }
  throw new ToolError("A stream cannot be sent again after a redirect.");
}

/**
 * Resolves a request's URL.
 * @throws {TypeError} if the key must not be sent to it
 */
function addressAt(service: AccountService, input: string | URL): URL {
  const { name, api } = service;
  // A path is relative to the API's own path, not to the root of its host.
  const isPath = typeof input === "string" && input.startsWith("/");
  const url = URL.parse(isPath ? api.replace(/\/$/, "") + input : input);
  if (url && isWithin(service, url)) return url;
  throw new TypeError(
    url
      ? `needs.${name}.fetch: this address is not within ${api}: the key stays here`
      : `needs.${name}.fetch: neither a path that begins with / nor an address`,
  );
}

/**
 * Matches an encoded `..`, which a server may find only after decoding the path
 * once or twice.
 */
const ENCODED_PARENT =
  /(?:\/|%(?:25)*(?:2f|5c))(?:\.|%(?:25)*2e){2}(?:\/|;|%|$)/i;

/**
 * True if a URL is within the service's API, which may be only a part of its
 * host.
 */
function isWithin(
  { api }: AccountService,
  { origin, username, password, pathname }: URL,
): boolean {
  const base = new URL(api);
  return origin === base.origin && username === "" && password === "" &&
    `${pathname}/`.startsWith(base.pathname.replace(/\/?$/, "/")) &&
    !ENCODED_PARENT.test(pathname);
}
