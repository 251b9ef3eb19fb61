/**
 * Refresh token rotation and reuse detection, and the response to a token
 * request. Only the current refresh token of a grant can be exchanged. The
 * previous one gets the same response again until 30 seconds after the client
 * first used that response: responses get lost, and some clients refresh from
 * two machines. Any other use of an earlier token is reuse, which ends the
 * grant.
 *
 * A grant's provider tokens are encrypted with a random data key. The data key
 * is encrypted for each valid code or token of the grant, with a key derived
 * from it. So the database alone reveals no provider tokens.
 *
 * @see RFC 6749 §5.1 and §6, RFC 9700 §4.14.2
 * @module
 */
import {
  base64url,
  fingerprint,
  fromBase64url,
  seal,
  unseal,
} from "../crypto/crypto.ts";
import { isTagged } from "./credential.ts";
import { REPLAY_SECONDS } from "./lifetimes.ts";
import { printScope } from "./scope.ts";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";

export interface IssuedTokens {
  accessToken: string;
  /**
   * Absent if the client registered without `refresh_token`, or can get the
   * next access token without a person.
   */
  refreshToken?: string;
  scopes: readonly string[];
  /** The epoch second at which the access token expires. */
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
    // Sent even if empty: the client may have requested other scopes (§5.1).
    scope: printScope(scopes),
  };
}

/** Makes a random 256-bit key for {@linkcode seal}. */
export function newDataKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

/**
 * Derives a key from a secret with at least 160 random bits. Different values
 * of `purpose` give independent keys.
 * @see RFC 5869
 */
export function deriveKey(secret: string, purpose: string): Uint8Array {
  const encoder = new TextEncoder();
  const info = encoder.encode(`tool-server ${purpose}`);
  return hkdf(sha256, encoder.encode(secret), undefined, info, 32);
}

/** Encrypts a grant's data key with a key derived from `credential`. */
export function wrapDataKey(
  dataKey: Uint8Array,
  grantId: string,
  credential: string,
): Promise<string> {
  const key = deriveKey(credential, "data key");
  return seal(key, base64url(dataKey), grantId);
}

/** Decrypts the data key that {@linkcode wrapDataKey} encrypted. */
export async function unwrapDataKey(
  wrapped: string,
  grantId: string,
  credential: string,
): Promise<Uint8Array> {
  const key = deriveKey(credential, "data key");
  return fromBase64url(await unseal(key, wrapped, grantId));
}

/** A provider's tokens for a person. */
export interface UpstreamTokens {
  /** The access token for the provider's API. */
  accessToken: string;
  /** The token type as the provider wrote it: `Bearer`, `bearer`. */
  tokenType: string;
  /** The refresh token; undefined if the provider issued none. */
  refreshToken?: string;
  /** The granted `scope`; undefined if the token response had none. */
  scope?: string;
  /**
   * The epoch second when the access token expires; undefined if it does not.
   */
  expiresAt?: number;
  /** The epoch second from which the access token is refreshed before use. */
  refreshAt?: number;
  /** The `id_token` of the same token response; undefined if it had none. */
  idToken?: string;
}

/** The valid refresh tokens of a grant, as fingerprints. */
export interface RefreshTokens {
  current: string;
  /** The grant's data key, encrypted for the current refresh token. */
  wrappedKey: string;
  /**
   * The exchange that issued the current token; absent if a code was redeemed.
   */
  exchange?: Exchange;
}

interface Exchange {
  refreshToken: string;
  /** The fingerprint of the access token in the response. */
  accessToken: string;
  /**
   * The response, encrypted with a key derived from the exchanged refresh
   * token.
   */
  response: string;
  /** True if the client has revoked the access token in the response. */
  isRevoked?: boolean;
  /**
   * The epoch second until which the response is repeated. Absent until the
   * client calls with the access token in it.
   */
  replayUntil?: number;
}

/** The members of a grant about refresh tokens. */
interface Refreshable {
  id: string;
  refreshKey?: string;
  refreshTokens?: RefreshTokens;
}

const responseKey = (refreshToken: string) =>
  deriveKey(refreshToken, "successor");

/**
 * Makes the record of an exchange.
 * @param tokens the tokens that were issued for `refreshToken`
 */
export async function makeExchange(
  refreshToken: string,
  tokens: IssuedTokens,
  grantId: string,
): Promise<Exchange> {
  const text = JSON.stringify(tokens);
  return {
    refreshToken: fingerprint(refreshToken),
    accessToken: fingerprint(tokens.accessToken),
    response: await seal(responseKey(refreshToken), text, grantId),
  };
}

/**
 * Returns the state of a refresh token: `current` can be exchanged, `exchanged`
 * gets the same response again, `reused` was used before. Undefined if it was
 * never issued for the grant.
 */
export function refreshTokenState(
  refreshToken: string,
  { refreshTokens, refreshKey }: Refreshable,
  now: number,
): "current" | "exchanged" | "reused" | undefined {
  const token = fingerprint(refreshToken);
  if (token === refreshTokens?.current) return "current";
  const { refreshToken: last, replayUntil = Infinity } =
    refreshTokens?.exchange ?? {};
  if (token === last && now < replayUntil) return "exchanged";
  // A valid tag proves that it was issued for this grant. Used tokens are
  // not stored.
  return isTagged(refreshToken, refreshKey) ? "reused" : undefined;
}

/** Decrypts the response for a refresh token that was already exchanged. */
export async function replayResponse(
  refreshToken: string,
  { id, refreshTokens }: Refreshable,
): Promise<IssuedTokens> {
  const { response } = refreshTokens!.exchange!;
  return JSON.parse(await unseal(responseKey(refreshToken), response, id));
}

/** Decrypts a grant's data key with the current refresh token. */
export function dataKeyOf(
  { id, refreshTokens }: Refreshable,
  current: string,
): Promise<Uint8Array> {
  return unwrapDataKey(refreshTokens!.wrappedKey, id, current);
}

/** True if the grant's last refresh issued this access token. */
export function isFromLastRefresh(
  accessToken: string,
  { refreshTokens }: Refreshable,
): boolean {
  return refreshTokens?.exchange?.accessToken === fingerprint(accessToken);
}

/**
 * True if the client has not yet used the tokens of the grant's last refresh.
 * @param exchanged the fingerprint of the refresh token for which a call's
 * access token was issued; undefined if it came from a code
 */
export function isLastRefreshUnused(
  exchanged: string | undefined,
  { refreshTokens }: Refreshable,
): boolean {
  const { refreshToken, replayUntil } = refreshTokens?.exchange ?? {};
  return exchanged !== undefined && exchanged === refreshToken &&
    replayUntil === undefined;
}

/** Returns a copy of a grant with changes to its last exchange. */
function withExchange<G extends Refreshable>(
  grant: G,
  changes: Partial<Exchange>,
): G {
  const { refreshTokens } = grant;
  const exchange = { ...refreshTokens!.exchange!, ...changes };
  return { ...grant, refreshTokens: { ...refreshTokens!, exchange } };
}

/**
 * Ends the repetition of the last response in `REPLAY_SECONDS`, because the
 * client has received it.
 */
export function limitReplays<G extends Refreshable>(grant: G, now: number): G {
  return withExchange(grant, { replayUntil: now + REPLAY_SECONDS });
}

/** Records that the client revoked the access token of the last exchange. */
export function noteRevoked<G extends Refreshable>(grant: G): G {
  return withExchange(grant, { isRevoked: true });
}
