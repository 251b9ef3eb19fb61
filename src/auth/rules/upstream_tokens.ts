/**
 * The tokens that a provider gave for a person, as grants and sessions keep
 * them.
 *
 * @module
 */

export interface UpstreamTokens {
  /** Opens the provider's API. */
  accessToken: string;
  /** The token type as the provider spelled it: `Bearer`, `bearer`. */
  tokenType: string;
  /** Gets the next access token, if the provider gave one. */
  refreshToken?: string;
  /** The granted scope, if the provider told it. */
  scope?: string;
  /** Epoch seconds; undefined: the access token does not expire by itself. */
  expiresAt?: number;
  /** The `id_token` of the same response, if the person is told by it. */
  idToken?: string;
}
