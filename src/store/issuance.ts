/**
 * New tokens of a grant, and their records.
 *
 * @module
 */
import { mintCredential, mintRefreshToken } from "../oauth/credential.ts";
import type { Grant } from "../oauth/grant.ts";
import type { Lifetimes } from "../oauth/lifetimes.ts";
import { wrapDataKey } from "../oauth/data_key.ts";
import type { IssuedTokens } from "../oauth/token_response.ts";
import { unlessBlocked } from "./blocks.ts";
import type { Expiring, Transaction } from "./database.ts";
import { setGrant } from "./grants.ts";
import { accessTokenKey, refreshTokenKey } from "./keys.ts";

export interface AccessRecord extends Expiring {
  /** The grant's data key, sealed with the token; absent: no provider. */
  wrappedKey?: string;
  /** The scopes of the token, if they are fewer than its grant's. */
  scopes?: readonly string[];
  /** The time of its token response; absent where a grant has one token. */
  issuedAt?: number;
  /**
   * The answer of the refresh token that it was exchanged for, until the first
   * call with this token shows that the client has it.
   */
  answer?: Deno.KvKey;
}

/** The record of a token whose grant has a provider. */
export interface TokenRecord extends AccessRecord {
  /** The grant's data key, sealed with the token. */
  wrappedKey: string;
  /** The time at which a refresh token was exchanged for its successors. */
  usedAt?: number;
  /** The keys of its predecessor, deleted when this one is used. */
  obsolete?: readonly Deno.KvKey[];
}

/** The answer to a used refresh token, for a client that did not get it. */
export interface SuccessorRecord extends Expiring {
  /** The issued tokens, under a key derived from their predecessor. */
  sealed: string;
}

/**
 * Makes an access token, and a refresh token if the grant may be refreshed.
 *
 * @param grant the grant with its new lifetime
 * @param options `kept`: the refresh token to keep, in place of a new one;
 * `obsolete`: the keys to delete when the new one is used; `answer`: where the
 * refresh token that is exchanged keeps the pair
 */
export async function issueTokens(
  grant: Grant,
  { dataKey, scopes, now, lifetimes, kept, obsolete, answer }: {
    lifetimes: Pick<Lifetimes, "accessTokenSeconds">;
    dataKey: Uint8Array;
    scopes: readonly string[];
    now: number;
    kept?: { refreshToken: string; record: TokenRecord };
    obsolete?: readonly Deno.KvKey[];
    answer?: Deno.KvKey;
  },
) {
  const { id: grantId, refreshKey } = grant;
  const accessToken = mintCredential("access_token", grantId);
  const access: TokenRecord = {
    wrappedKey: await wrapDataKey(dataKey, grantId, accessToken),
    issuedAt: now,
    expiresAt: Math.min(now + lifetimes.accessTokenSeconds, grant.expiresAt),
    ...scopes !== grant.scopes && { scopes },
    ...answer && { answer },
  };
  const refreshToken = kept?.refreshToken ??
    (refreshKey && mintRefreshToken(grantId, refreshKey));
  const refresh: TokenRecord | undefined = refreshToken === undefined
    ? undefined
    : {
      ...kept?.record ?? {
        wrappedKey: await wrapDataKey(dataKey, grantId, refreshToken),
        obsolete,
      },
      expiresAt: grant.expiresAt,
    };
  const { expiresAt } = access;
  const tokens: IssuedTokens = { accessToken, refreshToken, scopes, expiresAt };
  return {
    tokens,
    /** Adds their records; from its commit on they exist. */
    write(transaction: Transaction): Transaction {
      setGrant(unlessBlocked(transaction, grant), grant)
        .create(accessTokenKey(accessToken), access);
      if (refresh) transaction.set(refreshTokenKey(refreshToken!), refresh);
      return transaction;
    },
  };
}
