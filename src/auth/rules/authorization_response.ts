/**
 * The response that travels through the browser to the client.
 *
 * @see RFC 6749 §4.1.2, RFC 9207
 * @module
 */
import type { OAuthErrorCode } from "../../errors.ts";

/** The response to a client: a code, or the reason why there is none. */
export type AuthorizationResponse =
  | { code: string }
  | { error: OAuthErrorCode; error_description: string };

/**
 * Makes the redirect URI with the response in its query. The URI stays as the
 * client wrote it; the response is appended (RFC 6749 §3.1.2).
 */
export function authorizationResponseUrl(
  { redirectUri, state }: { redirectUri: string; state?: string },
  response: AuthorizationResponse,
  issuer: string,
): string {
  const query = new URLSearchParams(response);
  if (state !== undefined) query.set("state", state);
  query.set("iss", issuer);
  const separator = !redirectUri.includes("?")
    ? "?"
    : /[?&]$/.test(redirectUri)
    ? ""
    : "&";
  return `${redirectUri}${separator}${query}`;
}
