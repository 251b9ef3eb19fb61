/**
 * Refresh tokens: each is exchanged once, for a new pair. The pair is kept for
 * a client that did not get it, until one of its tokens is used.
 *
 * @module
 */
import { parseCredential } from "../oauth/credential.ts";
import { deriveKey } from "../oauth/data_key.ts";
import { type Grant, useGrant } from "../oauth/grant.ts";
import type { Lifetimes } from "../oauth/lifetimes.ts";
import type { IssuedTokens } from "../oauth/token_response.ts";
import { seal, unseal } from "../crypto/seal.ts";
import { type BlockHead, checkBlocks, knownBlocks } from "./blocks.ts";
import type { Database, Entry, Write } from "./database.ts";
import {
  issueTokens,
  type SuccessorRecord,
  type TokenRecord,
} from "./issuance.ts";
import {
  accessTokenKey,
  blockHeadKey,
  grantKey,
  refreshTokenKey,
  successorKey,
  upstreamKey,
} from "./keys.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

const answerKey = (token: string) => deriveKey(token, "successor");

export interface ReadRefreshToken {
  refreshToken: string;
  token: Entry<TokenRecord>;
  grant: Entry<Grant>;
  upstream: Entry<UpstreamRecord>;
  successor: Entry<SuccessorRecord>;
  /** True if the person or the client is blocked. */
  isBlocked: boolean;
}

/** A refresh token that may be exchanged. */
export interface LiveRefreshToken {
  /** The grant as it is to be from now on. */
  grant: Grant;
  dataKey: Uint8Array;
  record: TokenRecord;
  read: ReadRefreshToken;
  /**
   * The used token that it is the successor of, if that one was presented
   * again: it gets another access token, with the same refresh token.
   */
  repeated?: ReadRefreshToken;
}

export function refreshTokenStore(database: Database, lifetimes: Lifetimes) {
  const isBlocked = knownBlocks(database);

  return {
    /** Reads all records of a refresh token; undefined if it is not one. */
    async read(refreshToken: string): Promise<ReadRefreshToken | undefined> {
      const credential = parseCredential(refreshToken);
      if (credential?.kind !== "refresh_token") return undefined;
      const { grantId } = credential;
      const [token, grant, upstream, successor, head] = await database.getMany<
        [TokenRecord, Grant, UpstreamRecord, SuccessorRecord, BlockHead]
      >([
        refreshTokenKey(refreshToken),
        grantKey(grantId),
        upstreamKey(grantId),
        successorKey(refreshToken),
        blockHeadKey(),
      ]);
      return {
        refreshToken,
        token,
        grant,
        upstream,
        successor,
        isBlocked: !!grant.value && await isBlocked(head, grant.value),
      };
    },

    /**
     * Gives the tokens that a used token was exchanged for, until one of them
     * is used; undefined for one that was not used, or whose answer is gone.
     * `isRevoked`: the client has ended the access token since.
     */
    async answerAgain(
      { refreshToken, grant, successor: { value } }: ReadRefreshToken,
    ): Promise<{ tokens: IssuedTokens; isRevoked: boolean } | undefined> {
      if (!value || !grant.value) return undefined;
      const key = answerKey(refreshToken);
      const tokens: IssuedTokens = JSON.parse(
        await unseal(key, value.sealed, grant.value.id),
      );
      const isRevoked = !await database.find(
        accessTokenKey(tokens.accessToken),
      );
      return { tokens, isRevoked };
    },

    /**
     * Exchanges a token; undefined if another request was faster.
     *
     * @throws {import("../errors.ts").OAuthError} `invalid_grant` if the person
     * or the client is blocked
     * @param also writes of the same commit
     */
    async rotate(
      { grant, dataKey, record, read, repeated }: LiveRefreshToken,
      scopes: readonly string[],
      also: Write = () => {},
    ): Promise<IssuedTokens | undefined> {
      const time = database.now();
      const used = useGrant(grant, { refreshable: true, now: time, lifetimes });
      const { expiresAt } = used;
      const presented = repeated ?? read;
      const { tokens, write } = await issueTokens(used, {
        dataKey,
        scopes,
        now: time,
        lifetimes,
        kept: repeated && { refreshToken: read.refreshToken, record },
        answer: presented.successor.key,
        obsolete: [presented.token.key, presented.successor.key],
      });
      const sealed = await seal(
        answerKey(presented.refreshToken),
        JSON.stringify(tokens),
        grant.id,
      );
      const won = await database.commit((transaction) => {
        also(transaction);
        write(transaction)
          .check(read.token, read.grant)
          // A client cannot ask for it before it is there.
          .set<SuccessorRecord>(presented.successor.key, { sealed, expiresAt });
        if (repeated) transaction.check(repeated.successor);
        else {
          transaction.delete(...record.obsolete ?? [])
            .set<TokenRecord>(read.token.key, {
              wrappedKey: "",
              usedAt: time,
              expiresAt,
            });
        }
      });
      if (won) return tokens;
      await checkBlocks(database, grant, "invalid_grant");
    },
  };
}
