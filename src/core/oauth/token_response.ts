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
   * Absent for a client that registered without `refresh_token`, and where the
   * client can ask again without a person.
   */
  refreshToken?: string;
  scopes: readonly string[];
  /** The end of the access token, in epoch seconds. */
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
    // Always, even if empty: the client may have asked for other scopes (§5.1).
    scope: printScope(scopes),
  };
}
