/**
 * The response to a token request.
 *
 * @see RFC 6749 §5.1
 * @module
 */
import { printScope } from "./scope.ts";

export interface IssuedTokens {
  accessToken: string;
  /**
   * Absent if the client registered without `refresh_token`, or can get the
   * next access token without a person.
   */
  refreshToken?: string;
  scopes: readonly string[];
  /** The epoch second at which the access token expires. */
  expiresAt: number;
}

export function printTokenResponse(
  { accessToken, refreshToken, scopes, expiresAt }: IssuedTokens,
  now: number,
): Record<string, unknown> {
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: expiresAt - now,
    ...refreshToken !== undefined && { refresh_token: refreshToken },
    // Sent even if empty: the client may have requested other scopes (§5.1).
    scope: printScope(scopes),
  };
}
