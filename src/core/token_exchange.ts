/**
 * The exchange of a sign-in's access token for those of services behind its
 * provider.
 *
 * @see RFC 8693
 * @module
 */

/** A service behind a sign-in provider, and what a token is to do there. */
export interface TokenTarget {
  /** The scopes of the token. */
  scopes?: readonly string[];
  /** The service's name at the provider (RFC 8693 §2.1). */
  audience?: string;
  /** The service's address at the provider (RFC 8693 §2.1). */
  resource?: string;
}

/**
 * Exchanges the access token of the caller's sign-in for access tokens of
 * services behind the provider. Tools get these through `needs`.
 */
export interface ServiceTokens {
  /**
   * Returns an access token that is valid now. Undefined if the service has
   * refused a token and the provider has no other.
   *
   * @param refused the token that the service has refused
   * @throws {Error} `UpstreamError` when the provider gives none
   * @throws {import("./errors.ts").ChallengeError} when the sign-in is over
   * @throws {import("./errors.ts").HttpError} 503 when the sign-in cannot be
   * refreshed now
   */
  token(target: TokenTarget, refused?: string): Promise<string | undefined>;
}
