/**
 * The provider's claims about the owner of an access token.
 *
 * @see OpenID Connect Core §5.3
 * @module
 */
import { UpstreamError } from "./upstream_error.ts";
import { readObject, type UpstreamFetch } from "./upstream_fetch.ts";

/**
 * Asks a user endpoint, OpenID's or another.
 *
 * @throws {UpstreamError}
 */
export async function requestUserinfo(
  fetchUpstream: UpstreamFetch,
  endpoint: string,
  accessToken: string,
): Promise<Record<string, unknown>> {
  const { host } = new URL(endpoint);
  const response = await fetchUpstream(endpoint, {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  if (!response.ok) {
    throw new UpstreamError(
      // RFC 6750 §3.1.
      response.status === 401 ? "dead" : "misbehaved",
      `${host} answered ${response.status} when asked who it was`,
    );
  }
  return await readObject(response, host);
}

/**
 * Tells if a user endpoint accepts an access token: 401 means that it is dead
 * (RFC 6750 §3.1); any other failure means nothing, and gives undefined.
 *
 * @throws {UpstreamError} `unavailable`
 */
export async function isTokenAlive(
  fetchUpstream: UpstreamFetch,
  endpoint: string,
  accessToken: string,
): Promise<boolean | undefined> {
  const { ok, status } = await fetchUpstream(endpoint, {
    headers: { authorization: `Bearer ${accessToken}` },
  });
  if (ok) return true;
  return status === 401 ? false : undefined;
}
