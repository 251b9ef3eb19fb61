/**
 * The provider behind us: people sign in with it, and tools may use its tokens
 * in their name. We are its client.
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
  /** Returned with the response. */
  state: string;
  /** Returned in the `id_token`, if there is one. */
  nonce: string;
  /** S256 (RFC 7636 §4.2). */
  codeChallenge: string;
  /** Our callback address, as registered at the provider. */
  redirectUri: string;
  /** The account that the client proposes, usually an e-mail address. */
  loginHint?: string;
  /**
   * The steps that the provider is to ask of the person even if they are signed
   * in there.
   */
  prompts?: readonly ("login" | "select_account")[];
  /**
   * True if the provider must ask who the person is, even if they are signed in
   * there.
   */
  isFresh?: boolean;
}

/**
 * An authorization code that the provider sent, and the values of the
 * {@linkcode UpstreamRequest} that it answers.
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

/** The result of an exchanged code. */
export interface ProviderSignIn {
  /** The provider's tokens. */
  tokens: UpstreamTokens;
  /** The person, as the provider describes them. */
  identity: Identity;
  /**
   * The time at which the person showed who they are, in epoch seconds (OpenID
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
  /** The base address of the provider's API; undefined if it is not known. */
  readonly apiUrl?: string;
  /**
   * True if the provider must say when the person signed in there, once it was
   * asked to make them sign in again (OpenID Core §3.1.2.1, `max_age`).
   */
  readonly tellsTime?: boolean;
  /** Makes the address to send the person to. */
  authorizationUrl(request: UpstreamRequest): Promise<URL>;
  /**
   * Checks the `iss` of an answer; of one with a code, {@linkcode redeem}
   * checks it as well. Without this method the provider sends none.
   *
   * @see RFC 9207 §2.4
   */
  checkIssuer?(issuer: string | undefined): Promise<void>;
  /** Exchanges a code, and identifies its person. */
  redeem(response: UpstreamResponse): Promise<ProviderSignIn>;
  /** Refreshes tokens; without a new refresh token the old one is kept. */
  refresh(refreshToken: string): Promise<UpstreamTokens>;
  /**
   * Exchanges a person's access token for one of a service behind the provider.
   * Absent if the provider has no such exchange. If the app brings its own
   * provider, this is called only where `OAUTH_PROVIDER` is `oidc`, `custom` or
   * `microsoft`.
   */
  exchange?(accessToken: string, target: TokenTarget): Promise<UpstreamTokens>;
  /**
   * Identifies the person as they are now; undefined if the provider cannot say
   * with these tokens. Then rules use the last known memberships and address
   * for a day.
   */
  identify?(tokens: UpstreamTokens): Promise<ProviderIdentity | undefined>;
  /**
   * True if the provider still accepts an access token; undefined if it does
   * not say. A refused API request is not enough: an API refuses for other
   * reasons too.
   */
  isAlive?(accessToken: string): Promise<boolean | undefined>;
  /** Sends a request only to find out if the provider answers. */
  checkAnswers?(): Promise<unknown>;
  /** Revokes the tokens at the provider, if it can do that. */
  revoke?(tokens: UpstreamTokens): Promise<void>;
  /**
   * True if `revoke` leaves the other tokens of the same person valid. If so,
   * tokens that were needed only for a moment are revoked.
   */
  readonly revokesOne?: boolean;
}

/** A failed conversation with the provider. The message holds no secret. */
export class UpstreamError extends Error {
  /** The name of the class. */
  override name = "UpstreamError";
  /** The provider's own error code, if it gave one (RFC 6749 §5.2). */
  readonly code?: string;
  /** True if the code was exchanged before: only a new sign-in helps. */
  readonly isCodeSpent: boolean;
  /** The time after which the provider wants to be asked again, if it said one. */
  readonly retryAfterSeconds?: number;
  /** `message` must hold no secret. */
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

/** Makes the failure of an answer that breaks the protocol. */
export function misbehaved(message: string): UpstreamError {
  return new UpstreamError("misbehaved", message);
}

/**
 * Returns the error by which a check refuses an error response; undefined if it
 * accepts the response. If the provider cannot be reached, it is accepted: a
 * response without a code opens nothing.
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
