/**
 * Scopes that another service says it has granted. Services write them in
 * different ways, so they only serve to show people which scopes are missing.
 * No access depends on them.
 * @see RFC 6749 §5.1
 * @module
 */
import { SCOPE_TOKEN } from "../../authoring/scope.ts";

/** The maximum number of stored scopes. */
const MAX_SCOPES = 50;
const MAX_CHARACTERS = 200;

/**
 * Parses the `scope` of a token response, separated by spaces or commas; a
 * token is taken for no scope. Undefined without `scope`: then all requested
 * scopes were granted.
 */
export function parseGrantedScopes(
  { scope: text, accessToken, refreshToken }: {
    scope?: string;
    accessToken?: string;
    refreshToken?: string;
  },
): string[] | undefined {
  if (text === undefined) return undefined;
  const scopes = text.split(/[\s,]+/).filter((scope) =>
    scope.length <= MAX_CHARACTERS && SCOPE_TOKEN.test(scope) &&
    ![accessToken, refreshToken].some((it) => it && scope.includes(it))
  );
  return [...new Set(scopes)].slice(0, MAX_SCOPES);
}

/**
 * Scopes of OpenID Connect, which services rename or omit: Google answers with
 * a URL for `email`, Microsoft omits `offline_access`.
 */
const GENERIC = ["openid", "profile", "email", "offline_access"];

/** Lists the requested scopes that no granted scope seems to cover. */
export function scopesNotGiven(
  asked: readonly string[],
  given: readonly string[] | undefined,
): string[] {
  if (given === undefined) return [];
  return asked.filter((scope) =>
    !GENERIC.includes(scope) && !given.some((it) => covers(it, scope))
  );
}

/**
 * True if a granted scope is the requested one in another spelling, or includes
 * it.
 */
function covers(given: string, asked: string): boolean {
  if (given.toLowerCase() === asked.toLowerCase()) return true;
  const isAddress = [given, asked].map((it) => it.includes("://"));
  // Microsoft may answer `https://graph.microsoft.com/Mail.Read` for
  // `Mail.Read`.
  if (isAddress[0] !== isAddress[1]) return lastPart(given) === lastPart(asked);
  // GitHub omits a scope that another includes: `user:email` with `user`,
  // `read:org` with `admin:org`, `public_repo` with `repo`.
  const [verb, noun] = asked.split(":");
  if (noun === undefined) return given === "repo" && asked === "public_repo";
  return given === verb || given === noun || given === `admin:${noun}` ||
    given === `write:${noun}` && verb === "read";
}

function lastPart(scope: string): string {
  return scope.slice(scope.lastIndexOf("/") + 1).toLowerCase();
}
