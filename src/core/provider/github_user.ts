/**
 * A GitHub user with their e-mail addresses, from two endpoints.
 *
 * @see https://docs.github.com/en/rest/users/emails
 * @module
 */
import { isObject } from "../json.ts";
import type { ProviderIdentity } from "../oauth/person.ts";
import { claimText, parseIdentity } from "./identity.ts";
import { UpstreamError } from "./provider.ts";
import { type AuthorizedFetch, requestUserinfo } from "./upstream_fetch.ts";

/** Reads the user of an access token, with their e-mail addresses. */
export async function gitHubUser(
  ask: AuthorizedFetch,
  apiUrl: string,
): Promise<ProviderIdentity> {
  const user = await requestUserinfo(ask, `${apiUrl}/user`);
  const addresses = await readEmails(ask, apiUrl);
  const { verified: [email, ...otherEmails], unverified } = addresses ?? NONE;
  // The number, because a login may pass to another person.
  const identity = parseIdentity({
    ...user,
    sub: user.id,
    email: email ?? user.email,
    email_verified: email !== undefined,
  });
  return {
    ...identity,
    ...otherEmails.length > 0 && { otherEmails },
    ...unverified.length > 0 && { unverifiedEmails: unverified },
    ...!addresses && { unknown: ["email"] },
  };
}

/**
 * True if a 403 is due to a rate limit.
 * @see
 * https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
 */
function isRateLimited({ status, headers }: Response): boolean {
  return status === 403 &&
    (headers.has("retry-after") ||
      headers.get("x-ratelimit-remaining") === "0");
}

/**
 * The maximum number of verified addresses of a user, and of unverified ones.
 */
const MAX_ADDRESSES = 30;

interface Emails {
  verified: string[];
  unverified: string[];
}

const NONE: Emails = { verified: [], unverified: [] };

/**
 * Lists a person's e-mail addresses, the primary one first; undefined if the
 * scope for them is missing.
 */
async function readEmails(
  ask: AuthorizedFetch,
  apiUrl: string,
): Promise<Emails | undefined> {
  const response = await ask(`${apiUrl}/user/emails`);
  if (isRateLimited(response)) {
    const { host } = new URL(apiUrl);
    throw new UpstreamError("unavailable", `${host} limits our rate for now`);
  }
  // 403 and 404: the scope `user:email` was not granted.
  if (!response.ok) return undefined;
  const addresses: unknown = await response.json().catch(() => undefined);
  if (!Array.isArray(addresses)) return undefined;
  const listed = addresses.filter(isObject)
    .sort((a, b) => Number(b.primary === true) - Number(a.primary === true));
  const named = (wanted: boolean) =>
    listed.filter(({ verified }) => (verified === true) === wanted)
      .flatMap(({ email }) => claimText(email) ?? [])
      .slice(0, MAX_ADDRESSES);
  return { verified: named(true), unverified: named(false) };
}
