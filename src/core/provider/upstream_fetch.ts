/**
 * HTTP requests to the provider, with limits on time, size and redirects; also
 * requests with a person's access token.
 *
 * @see OpenID Connect Core §5.3
 * @module
 */
import { now } from "../clock.ts";
import { isObject } from "../json.ts";
import { readAtMost } from "../net/body_bytes.ts";
import { misbehaved, UpstreamError } from "./provider.ts";

/** The seconds within which a response must arrive completely. */
export const TIMEOUT_SECONDS = 10;

export const MAX_ANSWER_BYTES = 1024 * 1024;

/**
 * A `fetch` for the provider. Resolves to a complete response with a status
 * below 500 that is no redirect, within the limits.
 * @throws {UpstreamError} `unavailable` or `misbehaved`
 */
export type UpstreamFetch = (
  url: string,
  init?: RequestInit,
) => Promise<Response>;

/** Makes an {@linkcode UpstreamFetch} from `fetch` or a replacement. */
export function upstreamFetch(
  send: typeof fetch,
  timeoutSeconds = TIMEOUT_SECONDS,
): UpstreamFetch {
  return async function fetchUpstream(url, init = {}) {
    const host = URL.parse(url)?.host;
    if (host === undefined) throw misbehaved("An address is none");
    const headers = new Headers(init.headers);
    if (!headers.has("accept")) headers.set("accept", "application/json");
    // GitHub refuses requests without a User-Agent.
    headers.set("user-agent", "tool-server");
    const signal = AbortSignal.timeout(timeoutSeconds * 1000);
    try {
      const response = await send(url, {
        ...init,
        headers,
        redirect: "manual",
        signal,
      });
      checkStatus(response, host);
      const body = await readBody(response, host);
      return new Response(body, {
        status: response.status,
        headers: response.headers,
      });
    } catch (cause) {
      if (cause instanceof UpstreamError) throw cause;
      throw new UpstreamError("unavailable", `${host} did not answer`, {
        cause,
      });
    }
  };
}

function checkStatus({ status, body, headers }: Response, host: string): void {
  const kind = status >= 500 || status === 429 || status === 408
    ? "unavailable"
    : status >= 300 && status < 400
    ? "misbehaved"
    : undefined;
  if (kind === undefined) return;
  body?.cancel().catch(() => {});
  throw new UpstreamError(kind, `${host} answered ${status}`, {
    retryAfterSeconds: retryAfterOf(headers),
  });
}

/**
 * Returns the seconds in `Retry-After`.
 *
 * @see RFC 9110 §10.2.3
 */
function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get("retry-after") ?? "";
  const seconds = /^\d+$/.test(text)
    ? Number(text)
    : Date.parse(text) / 1000 - now();
  return seconds > 0 ? seconds : undefined;
}

/** Reads a body and counts its bytes, because `Content-Length` may be wrong. */
async function readBody(
  { body, status }: Response,
  host: string,
): Promise<Blob | null> {
  // `new Response` allows no body with these statuses, not even an empty
  // one.
  if (body === null || status === 204 || status === 205) {
    await body?.cancel();
    return null;
  }
  return await readAtMost(
    body,
    MAX_ANSWER_BYTES,
    (much) => misbehaved(`${host} answered with ${much}`),
  );
}

/**
 * Checks that a server responds, whatever the status.
 *
 * @throws {UpstreamError} `unavailable` if there is no response
 */
export async function checkAnswers(
  fetchUpstream: UpstreamFetch,
  url: string,
): Promise<void> {
  try {
    await fetchUpstream(url);
  } catch (error) {
    if ((error as Error).cause !== undefined) throw error;
  }
}

/**
 * Reads the object in a response: JSON, or a form, which older GitHub servers
 * send.
 */
export async function readObject(
  response: Response,
  host: string,
): Promise<Record<string, unknown>> {
  const text = await response.text();
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("application/x-www-form-urlencoded")) {
    return Object.fromEntries(new URLSearchParams(text));
  }
  try {
    const value = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Reported below, without the body, which may contain anything.
  }
  throw misbehaved(`${host} answered ${response.status} without a JSON object`);
}

export type AuthorizedFetch = (url: string) => Promise<Response>;

/** Returns a function that turns an access token into its `fetch`. */
export function authorizedFetches(
  fetchUpstream: UpstreamFetch,
): (accessToken: string) => AuthorizedFetch {
  return (accessToken) => (url) =>
    fetchUpstream(url, { headers: { authorization: `Bearer ${accessToken}` } });
}

/**
 * Makes the error for an unexpected status; 401 means an invalid token (RFC
 * 6750 §3.1).
 */
function unanswered(
  { status }: Response,
  url: string,
  what: string,
): UpstreamError {
  return new UpstreamError(
    status === 401 ? "dead" : "misbehaved",
    `${new URL(url).host} answered ${status} when asked ${what}`,
  );
}

/**
 * Requests a person's claims from a userinfo endpoint, or from the user
 * endpoint of a provider without OpenID.
 */
export async function requestUserinfo(
  ask: AuthorizedFetch,
  endpoint: string,
): Promise<Record<string, unknown>> {
  const response = await ask(endpoint);
  if (!response.ok) throw unanswered(response, endpoint, "who it was");
  return await readObject(response, new URL(endpoint).host);
}

/**
 * True if a userinfo endpoint accepts an access token, false if it refuses it.
 * Undefined for any other failure.
 */
export async function isTokenAlive(
  ask: AuthorizedFetch,
  endpoint: string,
): Promise<boolean | undefined> {
  const { ok, status } = await ask(endpoint);
  return ok || (status === 401 ? false : undefined);
}

const MAX_PAGES = 10;

/**
 * Reads the objects of a paginated list. `hasMore` is true if some pages were
 * not read: there are too many, or the access token must not be sent to their
 * URL.
 *
 * @param what the noun of the list, for the error
 * @param within the start of every URL to which the access token may be sent
 * @param parse returns the objects of a page, and the URL of the next page
 * @throws {UpstreamError} because an error must not look like an empty list
 */
export async function readPages(
  ask: AuthorizedFetch,
  first: string,
  { what, within, parse }: {
    what: string;
    within: string;
    parse(response: Response): Promise<{ items: unknown; next: unknown }>;
  },
): Promise<{ items: Record<string, unknown>[]; hasMore: boolean }> {
  const items: Record<string, unknown>[] = [];
  let next: unknown = first;
  for (let page = 0; page < MAX_PAGES; page++) {
    if (typeof next !== "string") return { items, hasMore: false };
    if (!next.startsWith(within)) break;
    const response = await ask(next);
    const answer = await parse(response);
    if (!response.ok || !Array.isArray(answer.items)) {
      throw unanswered(response, next, `for ${what}`);
    }
    items.push(...answer.items.filter(isObject));
    next = answer.next;
  }
  return { items, hasMore: typeof next === "string" };
}
