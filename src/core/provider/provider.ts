/**
 * The interface of a sign-in provider. People sign in there, and tools may use
 * its API on their behalf. This server is its OAuth client.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import type { UpstreamTokens } from "../oauth/refresh_token.ts";
import type { ProviderIdentity } from "../oauth/person.ts";
import type { TokenTarget } from "../token_exchange.ts";

export type { UpstreamTokens };

/** The parameters of an authorization request to the provider. */
export interface UpstreamRequest {
  /** The `state` parameter. */
  state: string;
  /** The `nonce` that an `id_token` must repeat. */
  nonce: string;
  /** The S256 code challenge (RFC 7636 §4.2). */
  codeChallenge: string;
  /** This server's redirect URI at the provider. */
  redirectUri: string;
  /** The account that the client suggests, usually an e-mail address. */
  loginHint?: string;
  /**
   * Values of `prompt` that the provider obeys even if the person is signed in
   * there.
   */
  prompts?: readonly ("login" | "select_account")[];
  /** True if the person must sign in again even if they are signed in there. */
  isFresh?: boolean;
}

/**
 * The code of an authorization response, with the values of its {@linkcode
 * UpstreamRequest}.
 */
export interface UpstreamResponse {
  /** The authorization code. */
  code: string;
  /** The PKCE verifier of the request's `codeChallenge`. */
  codeVerifier: string;
  /** The `nonce` of the request. */
  nonce: string;
  /** The redirect URI of the request. */
  redirectUri: string;
  /** The `iss` of the response (RFC 9207); undefined if it had none. */
  issuer?: string;
}

/** The result of redeeming the provider's authorization code. */
export interface ProviderSignIn {
  /** The provider's tokens. */
  tokens: UpstreamTokens;
  /** The person's identity from the provider's claims. */
  identity: Identity;
  /**
   * The epoch second at which the provider authenticated the person (OpenID
   * `auth_time`); undefined if unknown.
   */
  authenticatedAt?: number;
}

/** A sign-in provider. Every method throws {@linkcode UpstreamError}. */
export interface Provider {
  /** The name to show people: "GitHub". */
  readonly name: string;
  /**
   * The `iss` of the provider's authorization responses (RFC 9207), if they
   * have one.
   */
  readonly issuer?: string;
  /** The base URL of the provider's API; undefined if not known. */
  readonly apiUrl?: string;
  /**
   * True if the provider must report the time of a sign-in (`auth_time`) that
   * it was asked to repeat (OpenID Connect Core §3.1.2.1, `max_age`).
   */
  readonly tellsTime?: boolean;
  /** Makes the URL of an authorization request. */
  authorizationUrl(request: UpstreamRequest): Promise<URL>;
  /**
   * Checks the `iss` of an authorization response, as {@linkcode redeem} does.
   * Undefined if the provider sends no `iss`.
   *
   * @see RFC 9207 §2.4
   */
  checkIssuer?(issuer: string | undefined): Promise<void>;
  /** Redeems an authorization code and identifies the person. */
  redeem(response: UpstreamResponse): Promise<ProviderSignIn>;
  /** Refreshes tokens. Keeps the refresh token if the response has none. */
  refresh(refreshToken: string): Promise<UpstreamTokens>;
  /**
   * Exchanges a person's access token for one of a service behind the provider.
   * Undefined if the provider cannot. A provider that the author wrote is asked
   * only if `OAUTH_PROVIDER` is `oidc`, `custom` or `microsoft`.
   */
  exchange?(accessToken: string, target: TokenTarget): Promise<UpstreamTokens>;
  /**
   * Returns the person's current identity. Undefined if these tokens do not
   * suffice; then the last known memberships and address are used for a day.
   */
  identify?(tokens: UpstreamTokens): Promise<ProviderIdentity | undefined>;
  /**
   * True if the provider still accepts an access token; undefined if it cannot
   * tell. An API request that fails proves nothing, because it may have other
   * reasons.
   */
  isAlive?(accessToken: string): Promise<boolean | undefined>;
  /**
   * Sends a request whose only purpose is to find out if the provider responds.
   */
  checkAnswers?(): Promise<unknown>;
  /** Revokes tokens at the provider. Undefined if it cannot. */
  revoke?(tokens: UpstreamTokens): Promise<void>;
  /**
   * True if `revoke` ends only the given tokens, and no others of the person.
   * Then tokens needed only briefly are revoked after use.
   */
  readonly revokesOne?: boolean;
}

/** An error of a request to the provider. Its message has no secret. */
export class UpstreamError extends Error {
  /** `UpstreamError` */
  override name = "UpstreamError";
  /** The provider's error code (RFC 6749 §5.2); undefined if it sent none. */
  readonly code?: string;
  /**
   * True if the code was already redeemed, so the person must sign in again.
   */
  readonly isCodeSpent: boolean;
  /**
   * The seconds after which the provider allows the next request, if it said
   * so.
   */
  readonly retryAfterSeconds?: number;
  /** Makes an error. Its `message` must not have a secret. */
  constructor(
    /**
     * - `denied`: the person or the provider refused.
     * - `dead`: the code or refresh token is no longer valid (`invalid_grant`).
     * - `unavailable`: 5xx, 429, a time-out or no connection; trying again may
     * help.
     * - `misbehaved`: a response that breaks the protocol, or that shows that
     * this server's OAuth client is misconfigured at the provider.
     */
    readonly kind: "denied" | "dead" | "unavailable" | "misbehaved",
    message: string,
    { cause, code, isCodeSpent = false, retryAfterSeconds }: {
      cause?: unknown;
      code?: string;
      isCodeSpent?: boolean;
      retryAfterSeconds?: number;
    } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.isCodeSpent = isCodeSpent;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Makes the error for a response that breaks the protocol. */
export function misbehaved(message: string): UpstreamError {
  return new UpstreamError("misbehaved", message);
}

/**
 * Checks if an error response may come from elsewhere than the provider.
 * Returns the error of `check`. Undefined if `check` succeeds or the provider
 * is unreachable: then the response is accepted, because an error without a
 * code can do no harm.
 */
export async function errorOfCheck(
  check: () => Promise<void> | undefined,
): Promise<UpstreamError | undefined> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return error.kind === "unavailable" ? undefined : error;
  }
}
