/**
 * Token requests and their response.
 *
 * @see RFC 6749 §4.1.3, §5.1 and §6
 * @module
 */
import { OAuthError } from "../errors.ts";
import { JWT_BEARER_GRANT_TYPE } from "./identity_assertion.ts";
import type { Parameters } from "./parameters.ts";
import { checkResources } from "./resource.ts";
import { parseScope, printScope } from "./scope.ts";

/** A code for tokens, a refresh token for its successors, or neither. */
export type TokenRequest =
  | {
    grantType: "authorization_code";
    code: string;
    codeVerifier: string;
    /** Checked where it is sent; PKCE does its work since OAuth 2.1. */
    redirectUri?: string;
  }
  | {
    grantType: "refresh_token";
    refreshToken: string;
    /** Empty: all that was granted. */
    scopes: string[];
  }
  | {
    grantType: "client_credentials";
    /** Empty: all that the client may have. */
    scopes: string[];
  }
  | {
    grantType: typeof JWT_BEARER_GRANT_TYPE;
    /** Signed by an identity provider. */
    assertion: string;
    /** Empty: all that it allows. */
    scopes: string[];
  };

/**
 * Parses a token request.
 *
 * @throws {OAuthError} `invalid_request`, `unsupported_grant_type`,
 * `invalid_target` or `invalid_scope`
 */
export function parseTokenRequest(
  parameters: Parameters,
  baseUrl: string,
): TokenRequest {
  const grantType = parameters.require("grant_type");
  checkResources(parameters.resources, baseUrl);
  switch (grantType) {
    case "authorization_code":
      return {
        grantType,
        code: parameters.require("code"),
        codeVerifier: parameters.require("code_verifier"),
        redirectUri: parameters.get("redirect_uri"),
      };
    case "refresh_token":
      return {
        grantType,
        refreshToken: parameters.require("refresh_token"),
        scopes: parseScope(parameters.get("scope")),
      };
    case "client_credentials":
      return { grantType, scopes: parseScope(parameters.get("scope")) };
    case JWT_BEARER_GRANT_TYPE:
      return {
        grantType,
        assertion: parameters.require("assertion"),
        scopes: parseScope(parameters.get("scope")),
      };
    default:
      throw unsupportedGrantType();
  }
}

/** Which there are depends on the settings: the metadata lists them. */
export function unsupportedGrantType(): OAuthError {
  return new OAuthError(
    "unsupported_grant_type",
    "grant_type must be one of grant_types_supported in the metadata",
  );
}

/** What a client gets for its code or refresh token. */
export interface IssuedTokens {
  accessToken: string;
  /** Absent for a client that registered without the grant type. */
  refreshToken?: string;
  scopes: readonly string[];
  /** Of the access token, in epoch seconds. */
  expiresAt: number;
}

/** The token response (RFC 6749 §5.1). */
export function printTokenResponse(
  { accessToken, refreshToken, scopes, expiresAt }: IssuedTokens,
  now: number,
): Record<string, unknown> {
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: expiresAt - now,
    ...refreshToken !== undefined && { refresh_token: refreshToken },
    // Always, empty too: what was asked may have been something else (§5.1).
    scope: printScope(scopes),
  };
}
