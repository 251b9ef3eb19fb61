/**
 * The interface to the sign-in provider behind this server. People sign in
 * there, and tools may use its API in their name. This server is the provider's
 * client.
 *
 * @module
 */
import type { Identity } from "../caller.ts";
import type { UpstreamTokens } from "../oauth/data_key.ts";
import type { ProviderIdentity } from "../oauth/person.ts";
import type { TokenTarget } from "../token_exchange.ts";

export type { UpstreamTokens };

/** The authorization request with which a person is sent to the provider. */
export interface UpstreamRequest {
  /** The `state` parameter. */
  state: string;
  /** The `nonce` that the `id_token` must have, if there is one. */
  nonce: string;
  /** The S256 code challenge (RFC 7636 §4.2). */
  codeChallenge: string;
  /** Our redirect URI, as registered at the provider. */
  redirectUri: string;
  /** The account that the client proposes, usually an e-mail address. */
  loginHint?: string;
  /**
   * Values of `prompt`: steps that the provider asks of the person even if they
   * are signed in.
   */
  prompts?: readonly ("login" | "select_account")[];
  /** True if the provider must authenticate the person again. */
  isFresh?: boolean;
}

/**
 * An authorization code from the provider, and the values of the {@linkcode
 * UpstreamRequest} that it responds to.
 */
export interface UpstreamResponse {
  /** The authorization code. */
  code: string;
  /** The verifier of the request's `codeChallenge`. */
  codeVerifier: string;
  /** The request's `nonce`. */
  nonce: string;
  /** The request's `redirectUri`. */
  redirectUri: string;
  /** The `iss` parameter, if the response had one (RFC 9207). */
  issuer?: string;
}

/** The result of redeeming an authorization code. */
export interface ProviderSignIn {
  /** The provider's tokens. */
  tokens: UpstreamTokens;
  /** The person, as the provider describes them. */
  identity: Identity;
  /**
   * The epoch second at which the provider authenticated the person (OpenID
   * `auth_time`); undefined if the provider does not say.
   */
  authenticatedAt?: number;
}

/** One provider. Every method throws {@linkcode UpstreamError}. */
export interface Provider {
  /** The name for people: "GitHub". */
  readonly name: string;
  /** The `iss` of its authorization responses, if they have one (RFC 9207). */
  readonly issuer?: string;
  /** The base URL of the provider's API; undefined if it is not known. */
  readonly apiUrl?: string;
  /**
   * True if the provider must report when it authenticated the person, if it
   * was asked to do so again (OpenID Connect Core §3.1.2.1, `max_age`).
   */
  readonly tellsTime?: boolean;
  /** Makes the URL of the authorization request. */
  authorizationUrl(request: UpstreamRequest): Promise<URL>;
  /**
   * Checks the `iss` of an authorization response; {@linkcode redeem} does so,
   * too. Absent if the provider sends no `iss`.
   *
   * @see RFC 9207 §2.4
   */
  checkIssuer?(issuer: string | undefined): Promise<void>;
  /** Redeems an authorization code, and identifies the person. */
  redeem(response: UpstreamResponse): Promise<ProviderSignIn>;
  /**
   * Refreshes tokens. If the response has no new refresh token, the old one is
   * kept.
   */
  refresh(refreshToken: string): Promise<UpstreamTokens>;
  /**
   * Exchanges a person's access token for one of a service behind the provider.
   * Absent if the provider cannot do that. If the app brings its own provider,
   * this is called only if `OAUTH_PROVIDER` is `oidc`, `custom` or `microsoft`.
   */
  exchange?(accessToken: string, target: TokenTarget): Promise<UpstreamTokens>;
  /**
   * Identifies the person as they are now. Undefined if the provider cannot
   * tell with these tokens; then rules use the last known memberships and
   * address for a day.
   */
  identify?(tokens: UpstreamTokens): Promise<ProviderIdentity | undefined>;
  /**
   * True if the provider still accepts an access token; undefined if it cannot
   * tell. An API request that was refused proves nothing, because an API may
   * refuse for other reasons.
   */
  isAlive?(accessToken: string): Promise<boolean | undefined>;
  /** Sends a request only to find out if the provider responds. */
  checkAnswers?(): Promise<unknown>;
  /** Revokes the tokens at the provider. Absent if it cannot do that. */
  revoke?(tokens: UpstreamTokens): Promise<void>;
  /**
   * True if `revoke` ends only the given tokens, and not others of the same
   * person. Then tokens that were needed only for a moment are revoked.
   */
  readonly revokesOne?: boolean;
}

/** An error in a request to the provider. The message contains no secret. */
export class UpstreamError extends Error {
  /** The name of the class. */
  override name = "UpstreamError";
  /** The provider's own error code, if it gave one (RFC 6749 §5.2). */
  readonly code?: string;
  /**
   * True if the code was redeemed already, so that only a new sign-in helps.
   */
  readonly isCodeSpent: boolean;
  /**
   * The time after which the provider wants the next request, if it said so.
   */
  readonly retryAfterSeconds?: number;
  /** Makes an error, whose `message` must contain no secret. */
  constructor(
    /**
     * - `denied`: the person or the provider refused.
     * - `dead`: the code or refresh token is no longer valid (`invalid_grant`).
     * - `unavailable`: 5xx, 429, a time-out or no connection; trying again may
     *   help.
     * - `misbehaved`: an answer that breaks the protocol, or one that means
     *   that our application is not set up right there.
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
 * Returns the error with which a check refuses an error response; undefined if
 * the check accepts it. If the provider is unreachable, the response is
 * accepted: without a code it can do no harm.
 */
export async function refusalOf(
  check: () => Promise<void> | undefined,
): Promise<UpstreamError | undefined> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return error.kind === "unavailable" ? undefined : error;
  }
}
