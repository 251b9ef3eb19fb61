/**
 * Refresh token rotation and reuse detection. Only the current refresh token of
 * a grant can be exchanged. The one before it gets a replay of the same
 * response until 30 seconds after the client first used that response:
 * responses get lost, and some clients refresh from two machines. Any other use
 * of an earlier token is reuse, which ends the grant.
 *
 * @see RFC 6749 §6, RFC 9700 §4.14.2
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import { seal, unseal } from "../crypto/seal.ts";
import { isMinted } from "./credential.ts";
import { deriveKey, unwrapDataKey } from "./data_key.ts";
import { REPLAY_SECONDS } from "./lifetimes.ts";
import type { IssuedTokens } from "./token_response.ts";

/** The refresh tokens of a grant that are accepted. */
export interface RefreshTokens {
  /** The fingerprint of the refresh token that may be exchanged. */
  current: string;
  /** The grant's data key, sealed with the current token. */
  wrappedKey: string;
  /**
   * The exchange that issued the current token; absent if an authorization code
   * did.
   */
  exchange?: Exchange;
}

interface Exchange {
  refreshToken: string;
  /** The fingerprint of the access token that the exchange issued. */
  accessToken: string;
  /** The response, sealed with a key derived from the refresh token. */
  response: string;
  /** True if the client has revoked that access token. */
  isRevoked?: boolean;
  /**
   * The epoch second until which the response is replayed; absent before the
   * first call with that access token.
   */
  replayUntil?: number;
}

/** The members of a grant that are about its refresh tokens. */
interface Refreshable {
  id: string;
  refreshKey?: string;
  refreshTokens?: RefreshTokens;
}

const responseKey = (refreshToken: string) =>
  deriveKey(refreshToken, "successor");

/** Makes the record of an exchange of a refresh token for `tokens`. */
export async function exchangeOf(
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
 * Judges a refresh token by its grant: it may be exchanged (`current`), its
 * response is replayed (`exchanged`), or it was used before (`reused`). Returns
 * undefined for a token that was never made for the grant.
 */
export function stateOfToken(
  refreshToken: string,
  { refreshTokens, refreshKey }: Refreshable,
  now: number,
): "current" | "exchanged" | "reused" | undefined {
  const token = fingerprint(refreshToken);
  if (token === refreshTokens?.current) return "current";
  const { refreshToken: last, replayUntil = Infinity } =
    refreshTokens?.exchange ?? {};
  if (token === last && now < replayUntil) return "exchanged";
  // A valid tag proves that the token was issued for this grant; used tokens
  // are not stored.
  return isMinted(refreshToken, refreshKey) ? "reused" : undefined;
}

/** Unseals the response that an exchanged refresh token was answered with. */
export async function replayResponse(
  refreshToken: string,
  { id, refreshTokens }: Refreshable,
): Promise<IssuedTokens> {
  const { response } = refreshTokens!.exchange!;
  return JSON.parse(await unseal(responseKey(refreshToken), response, id));
}

/** Unseals a grant's data key with the current refresh token. */
export function dataKeyOf(
  { id, refreshTokens }: Refreshable,
  current: string,
): Promise<Uint8Array> {
  return unwrapDataKey(refreshTokens!.wrappedKey, id, current);
}

/** True if an access token was issued by the grant's last exchange. */
export function isOfExchange(
  accessToken: string,
  { refreshTokens }: Refreshable,
): boolean {
  return refreshTokens?.exchange?.accessToken === fingerprint(accessToken);
}

/**
 * Returns true if no call with an access token of the grant's last exchange has
 * been seen.
 *
 * @param exchanged the fingerprint of the refresh token that was exchanged for
 * the call's access token; undefined if none was
 */
export function isUnseen(
  exchanged: string | undefined,
  { refreshTokens }: Refreshable,
): boolean {
  const { refreshToken, replayUntil } = refreshTokens?.exchange ?? {};
  return exchanged !== undefined && exchanged === refreshToken &&
    replayUntil === undefined;
}

/** Returns a grant with changes to its last exchange. */
function withExchange<G extends Refreshable>(
  grant: G,
  changes: Partial<Exchange>,
): G {
  const { refreshTokens } = grant;
  const exchange = { ...refreshTokens!.exchange!, ...changes };
  return { ...grant, refreshTokens: { ...refreshTokens!, exchange } };
}

/**
 * Replays the last response for `REPLAY_SECONDS` more: the client now has it.
 */
export function limitReplays<G extends Refreshable>(grant: G, now: number): G {
  return withExchange(grant, { replayUntil: now + REPLAY_SECONDS });
}

/** Records that the access token of the last exchange was revoked. */
export function noteRevoked<G extends Refreshable>(grant: G): G {
  return withExchange(grant, { isRevoked: true });
}
