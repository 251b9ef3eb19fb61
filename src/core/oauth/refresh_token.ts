/**
 * The refresh tokens of a grant. The current one may be exchanged. The one
 * before it is answered with the same response again until 30 seconds after the
 * client first used that response: responses get lost, and some clients refresh
 * from two machines. Any other use of an earlier token is a reuse, which ends
 * the grant.
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
  /** The fingerprint of the token that may be exchanged. */
  current: string;
  /** The grant's data key, sealed with the current token. */
  wrappedKey: string;
  /** The exchange that issued the current token; absent if a code did. */
  exchange?: Exchange;
}

interface Exchange {
  refreshToken: string;
  /** The fingerprint of the access token that it was exchanged for. */
  accessToken: string;
  /** The response, sealed with a key derived from the refresh token. */
  response: string;
  /** True if the client has revoked the issued access token. */
  isRevoked?: boolean;
  /**
   * The time until which the response is given again, in epoch seconds; absent
   * before the first call with the issued access token.
   */
  replayUntil?: number;
}

/** The members of a grant about its refresh tokens. */
interface Refreshable {
  id: string;
  refreshKey?: string;
  refreshTokens?: RefreshTokens;
}

const responseKey = (refreshToken: string) =>
  deriveKey(refreshToken, "successor");

/** Makes the record of an exchange. */
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
 * Judges a refresh token by its grant: it may be exchanged (`current`), it is
 * answered with the same response again (`exchanged`), or it was used before
 * (`reused`). Returns undefined for a token that was never made for the grant.
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
  // The tag proves that the token is one of the grant's: used tokens are not
  // stored.
  return isMinted(refreshToken, refreshKey) ? "reused" : undefined;
}

/** Opens the response that an exchanged refresh token was answered with. */
export async function replayResponse(
  refreshToken: string,
  { id, refreshTokens }: Refreshable,
): Promise<IssuedTokens> {
  const { response } = refreshTokens!.exchange!;
  return JSON.parse(await unseal(responseKey(refreshToken), response, id));
}

/** Opens a grant's data key with its current refresh token. */
export function dataKeyOf(
  { id, refreshTokens }: Refreshable,
  current: string,
): Promise<Uint8Array> {
  return unwrapDataKey(refreshTokens!.wrappedKey, id, current);
}

/** True if an access token is that of the grant's last exchange. */
export function isOfExchange(
  accessToken: string,
  { refreshTokens }: Refreshable,
): boolean {
  return refreshTokens?.exchange?.accessToken === fingerprint(accessToken);
}

/**
 * Returns true if a call is the first one with the access token that the
 * grant's last exchange issued.
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

/** Changes members of a grant's last exchange. */
function withExchange<G extends Refreshable>(
  grant: G,
  changes: Partial<Exchange>,
): G {
  const { refreshTokens } = grant;
  const exchange = { ...refreshTokens!.exchange!, ...changes };
  return { ...grant, refreshTokens: { ...refreshTokens!, exchange } };
}

/** Ends the replays of the last response, which the client now has. */
export function endReplays<G extends Refreshable>(grant: G, now: number): G {
  return withExchange(grant, { replayUntil: now + REPLAY_SECONDS });
}

/** Notes that the access token of the last exchange was revoked. */
export function noteRevoked<G extends Refreshable>(grant: G): G {
  return withExchange(grant, { isRevoked: true });
}
