/**
 * The provider behind us: who people sign in with, and whose tokens a tool
 * may use in their name. We are its client.
 *
 * @module
 */
import type { Identity } from "../caller.ts";

export { UpstreamError, type UpstreamErrorKind } from "./upstream_error.ts";

/** The provider's tokens for one person. */
export interface UpstreamTokens {
  /** Opens the provider's API. */
  accessToken: string;
  /** As the provider spelled it: `Bearer`, `bearer`. */
  tokenType: string;
  /** Gets the next access token, where the provider gave one. */
  refreshToken?: string;
  /** What was granted, where the provider told. */
  scope?: string;
  /** Epoch seconds; undefined: the access token does not expire by itself. */
  expiresAt?: number;
  /** Of the same answer, where it is needed to learn who the person is. */
  idToken?: string;
}

/** What the provider is asked when someone is sent there. */
export interface UpstreamRequest {
  /** Comes back in the answer. */
  state: string;
  /** Comes back in the `id_token`, where there is one. */
  nonce: string;
  /** S256 (RFC 7636 §4.2). */
  codeChallenge: string;
  /** Our callback address, as registered at the provider. */
  redirectUri: string;
  /** Whom the client proposes, usually by an e-mail address. */
  loginHint?: string;
  /** What the client wants the person to do although they are signed in. */
  prompts?: readonly ("login" | "select_account")[];
}

/** A code that came back, with what the request was made of. */
export interface UpstreamResponse {
  /** The authorization code. */
  code: string;
  /** What the request's `codeChallenge` was made of. */
  codeVerifier: string;
  /** The request's `nonce`. */
  nonce: string;
  /** The request's `redirectUri`. */
  redirectUri: string;
  /** The `iss` parameter, where the answer had one (RFC 9207). */
  issuer?: string;
}

/** One provider. Every method throws {@linkcode UpstreamError}. */
export interface Provider {
  /** For people: "GitHub". */
  readonly name: string;
  /** Base of the provider's API; undefined where none is known. */
  readonly apiUrl?: string;
  /** Where to send the person. */
  authorizationUrl(request: UpstreamRequest): Promise<URL>;
  /** Exchanges a code, and learns who it is for. */
  redeem(
    response: UpstreamResponse,
  ): Promise<{ tokens: UpstreamTokens; identity: Identity }>;
  /** New tokens; the refresh token stays the old one where none is returned. */
  refresh(refreshToken: string): Promise<UpstreamTokens>;
  /**
   * Who the person is today. Without it, what a person belongs to counts until
   * the first refresh.
   */
  identify?(tokens: UpstreamTokens): Promise<Identity>;
  /**
   * Whether it still takes an access token; undefined where it does not say.
   * One refused call is no answer: an API refuses for other reasons too.
   */
  isAlive?(accessToken: string): Promise<boolean | undefined>;
  /** Ends the tokens at the provider, where it has a way to. */
  revoke?(tokens: UpstreamTokens): Promise<void>;
}
