/**
 * Issues tokens of a grant: makes the record of the access token, and the new
 * state of the grant's refresh tokens.
 *
 * @module
 */
import { fingerprint } from "../crypto/crypto.ts";
import { mintCredential, mintRefreshToken } from "../oauth/credential.ts";
import { wrapDataKey } from "../oauth/data_key.ts";
import type { Grant } from "../oauth/grant.ts";
import type { Lifetimes } from "../oauth/lifetimes.ts";
import { makeExchange } from "../oauth/refresh_token.ts";
import type { IssuedTokens } from "../oauth/token_response.ts";
import { unlessBlocked } from "./blocks.ts";
import type { Expiring, Transaction } from "../kv/database.ts";
import { setGrant } from "./grants.ts";
import { accessTokenKey } from "../kv/keys.ts";

export interface AccessRecord extends Expiring {
  /**
   * The grant's data key, encrypted with the access token; absent without a
   * provider.
   */
  wrappedKey?: string;
  /** The scopes of the token, if they are fewer than those of its grant. */
  scopes?: readonly string[];
  /**
   * The time of the token response; absent if the grant has only this token.
   */
  issuedAt?: number;
  /**
   * The fingerprint of the refresh token that was exchanged for this token, if
   * any.
   */
  exchanged?: string;
}

/** New tokens; they are valid once `write` is committed. */
export interface Issuance {
  tokens: IssuedTokens;
  write(transaction: Transaction): Transaction;
}

/**
 * Makes an access token, and a refresh token if the grant can be refreshed.
 * @param grant the grant with its new lifetime
 * @param options `exchanged`: the refresh token that is exchanged; if it was
 * exchanged before, its `successor` is the refresh token that the client got
 * then, and gets again
 */
export async function issueTokens(
  grant: Grant,
  { dataKey, scopes, now, lifetimes, exchanged }: {
    lifetimes: Pick<Lifetimes, "accessTokenSeconds">;
    dataKey: Uint8Array;
    scopes: readonly string[];
    now: number;
    exchanged?: { refreshToken: string; successor?: string };
  },
): Promise<Issuance> {
  const { id, refreshKey } = grant;
  const accessToken = mintCredential("access_token", id);
  const refreshToken = exchanged?.successor ??
    (refreshKey && mintRefreshToken(id, refreshKey));
  const expiresAt = Math.min(
    now + lifetimes.accessTokenSeconds,
    grant.expiresAt,
  );
  const tokens: IssuedTokens = { accessToken, refreshToken, scopes, expiresAt };
  const [wrappedKey, wrappedForRefresh, exchange] = await Promise.all([
    wrapDataKey(dataKey, id, accessToken),
    refreshToken && wrapDataKey(dataKey, id, refreshToken),
    refreshToken && exchanged &&
    makeExchange(exchanged.refreshToken, tokens, id),
  ]);
  const access: AccessRecord = {
    wrappedKey,
    issuedAt: now,
    expiresAt,
    ...scopes !== grant.scopes && { scopes },
    ...exchanged && { exchanged: fingerprint(exchanged.refreshToken) },
  };
  const issued: Grant = {
    ...grant,
    ...refreshToken && wrappedForRefresh && {
      refreshTokens: {
        current: fingerprint(refreshToken),
        wrappedKey: wrappedForRefresh,
        ...exchange && { exchange },
      },
    },
  };
  return {
    tokens,
    write: (transaction) =>
      setGrant(unlessBlocked(transaction, grant), issued)
        .create(accessTokenKey(accessToken), access),
  };
}
