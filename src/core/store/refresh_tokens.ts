/**
 * The exchange of refresh tokens (rotation). Its state is in the grant
 * ({@linkcode import("../oauth/refresh_token.ts").RefreshTokens}).
 * @module
 */
import { parseCredential } from "../oauth/credential.ts";
import { extendGrant, type Grant } from "../oauth/grant.ts";
import type { Lifetimes } from "../oauth/lifetimes.ts";
import { type BlockHead, checkBlocks, knownBlocks } from "./blocks.ts";
import type { Database, Entry } from "../kv/database.ts";
import { type Issuance, issueTokens } from "./issuance.ts";
import { blockHeadKey, grantKey, upstreamKey } from "../kv/keys.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

export interface FoundRefreshToken {
  grant: Entry<Grant>;
  upstream: Entry<UpstreamRecord>;
  isBlocked: boolean;
}

export function refreshTokenStore(database: Database, lifetimes: Lifetimes) {
  const isBlocked = knownBlocks(database);

  return {
    /** Reads the records of a refresh token; undefined for any other text. */
    async read(refreshToken: string): Promise<FoundRefreshToken | undefined> {
      const credential = parseCredential(refreshToken);
      if (credential?.kind !== "refresh_token") return undefined;
      const { grantId } = credential;
      const [grant, upstream, head] = await database.getMany<
        [Grant, UpstreamRecord, BlockHead]
      >([grantKey(grantId), upstreamKey(grantId), blockHeadKey()]);
      return {
        grant,
        upstream,
        isBlocked: !!grant.value && await isBlocked(head, grant.value),
      };
    },

    /**
     * Makes the tokens for which a refresh token is exchanged. They are valid
     * once `write` is committed; that fails if the grant has changed since it
     * was read.
     * @param read the grant as it was read, which the commit checks
     * @param options `grant`: the new state of the grant; `successor`: the
     * current refresh token, if `refreshToken` was exchanged for it before
     * and its client gets it again
     */
    async exchange(
      refreshToken: string,
      { grant: read }: FoundRefreshToken,
      { grant, dataKey, scopes, successor }: {
        grant: Grant;
        dataKey: Uint8Array;
        scopes: readonly string[];
        successor?: string;
      },
    ): Promise<Issuance> {
      const now = database.now();
      const used = extendGrant(grant, { refreshable: true, now, lifetimes });
      const { tokens, write } = await issueTokens(used, {
        dataKey,
        scopes,
        now,
        lifetimes,
        exchanged: { refreshToken, successor },
      });
      return { tokens, write: (transaction) => write(transaction.check(read)) };
    },

    /**
     * Commits an exchange. Returns false if another request changed the grant
     * first.
     *
     * @throws {import("../errors.ts").OAuthError} `invalid_grant` if the person
     * or the client is blocked
     */
    async commit({ write }: Issuance, grant: Grant): Promise<boolean> {
      if (await database.commit(write)) return true;
      await checkBlocks(database, grant, "invalid_grant");
      return false;
    },
  };
}
