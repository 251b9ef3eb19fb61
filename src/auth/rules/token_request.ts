/**
 * Token requests and their response.
 *
 * @see RFC 6749 §4.1.3, §5.1 and §6
 * @module
 */
import { OAuthError } from "../../errors.ts";
import { JWT_BEARER_GRANT_TYPE } from "./identity_assertion.ts";
import type { Parameters } from "./parameters.ts";
import { checkResources } from "./resource.ts";
import { parseScope, printScope } from "./scope.ts";

type TokenRequest =
  | {
    grantType: "authorization_code";
    code: string;
    codeVerifier: string;
    /** Compared with that of the code if it is sent; else PKCE protects. */
    redirectUri?: string;
  }
  | {
    grantType: "refresh_token";
    refreshToken: string;
    /** Empty: all granted scopes. */
    scopes: string[];
  }
  | {
    grantType: "client_credentials";
    /** Empty: all scopes that the client may have. */
    scopes: string[];
  }
  | {
    grantType: typeof JWT_BEARER_GRANT_TYPE;
    /** A JWT signed by an identity provider. */
    assertion: string;
    /** Empty: all scopes that it allows. */
    scopes: string[];
  };

export type GrantRequest<T extends TokenRequest["grantType"]> = Omit<
  Extract<TokenRequest, { grantType: T }>,
  "grantType"
>;

/**
 * Parses a token request.
 *
 * @param takesAssertions true if an identity provider is trusted
 * @throws {OAuthError} `invalid_request`, `unsupported_grant_type`,
 * `invalid_target` or `invalid_scope`
 */
export function parseTokenRequest(
  parameters: Parameters,
  { baseUrl, takesAssertions }: { baseUrl: string; takesAssertions: boolean },
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
      if (!takesAssertions) throw unsupportedGrantType();
      return {
        grantType,
        assertion: parameters.require("assertion"),
        scopes: parseScope(parameters.get("scope")),
      };
    default:
      throw unsupportedGrantType();
  }
}

/** Makes the refusal, without the grant types: they depend on the settings. */
function unsupportedGrantType(): OAuthError {
  return new OAuthError(
    "unsupported_grant_type",
    "grant_type must be one of grant_types_supported in the metadata",
  );
}

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

/** Prints the token response (RFC 6749 §5.1). */
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
