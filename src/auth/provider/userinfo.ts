/**
 * Requests in the name of a person with the provider's access token, first of
 * all for the claims about them.
 *
 * @see OpenID Connect Core §5.3
 * @module
 */
import { isObject } from "../../json.ts";
import { UpstreamError } from "./provider.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";

/** Sends a request with the access token of a person. */
export type Ask = (url: string) => Promise<Response>;

/** Makes the function that asks with an access token. */
export function asking(
  fetchUpstream: UpstreamFetch,
): (accessToken: string) => Ask {
  return (accessToken) => (url) =>
    fetchUpstream(url, { headers: { authorization: `Bearer ${accessToken}` } });
}

/** Makes the failure of an answer; 401 means a dead token (RFC 6750 §3.1). */
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
 * Asks a user endpoint, OpenID's or another.
 *
 * @throws {UpstreamError}
 */
export async function requestUserinfo(
  ask: Ask,
  endpoint: string,
): Promise<Record<string, unknown>> {
  const response = await ask(endpoint);
  if (!response.ok) throw unanswered(response, endpoint, "who it was");
  return await readObject(response, new URL(endpoint).host);
}

/**
 * Tells if a user endpoint accepts an access token; undefined for a failure
 * that does not tell it.
 *
 * @throws {UpstreamError} `unavailable`
 */
export async function isTokenAlive(
  ask: Ask,
  endpoint: string,
): Promise<boolean | undefined> {
  const { ok, status } = await ask(endpoint);
  return ok || (status === 401 ? false : undefined);
}

/** The most pages of a list that are read. */
const MAX_PAGES = 10;

/**
 * Reads the objects of a list that comes in pages.
 *
 * @param what the list, for the error
 * @param within the beginning of every address: our token goes nowhere else
 * @param parse gives the items of an answer, and the address of the next page
 * @throws {UpstreamError} because an error must not look like an empty list
 */
export async function readPages(
  ask: Ask,
  first: string,
  { what, within, parse }: {
    what: string;
    within: string;
    parse(response: Response): Promise<{ items: unknown; next: unknown }>;
  },
): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  let next: unknown = first;
  for (let page = 0; page < MAX_PAGES; page++) {
    if (typeof next !== "string" || !next.startsWith(within)) break;
    const response = await ask(next);
    const answer = await parse(response);
    if (!response.ok || !Array.isArray(answer.items)) {
      throw unanswered(response, next, `for ${what}`);
    }
    found.push(...answer.items.filter(isObject));
    next = answer.next;
  }
  return found;
}
