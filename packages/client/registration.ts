/**
 * The registration of a client, and the data of its sign-ins. All of it is
 * plain, so that it can be stored.
 *
 * @module
 * @see RFC 7591, RFC 6749 §5.1
 */

/** A client's place at an authorization server. */
export interface Registration {
  clientId: string;
  redirectUri: string;
  issuer: string;
  resource: string;
  tokenEndpoint: string;
  revocationEndpoint?: string;
}

/**
 * A sign-in that goes on in a browser; plain data, so that it can be stored.
 */
export interface SignInRequest extends Registration {
  /** The address that the person opens. */
  url: string;
  state: string;
  codeVerifier: string;
  /** True if the server promises to name its issuer in the response. */
  returnsIssuer: boolean;
}

/** Tokens of a server. */
export interface Tokens {
  accessToken: string;
  refreshToken?: string;
  /** Epoch milliseconds. */
  expiresMilliseconds?: number;
  /** The scopes that were granted, if the server names them. */
  scope?: string;
}
