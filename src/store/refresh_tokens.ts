/**
 * Refresh tokens: each is exchanged once, for a new pair. Until a token of that
 * pair is used, the used one still gives that same pair, because responses get
 * lost and databases stall; and for 30 s after the first call with its access
 * token, because some clients refresh from two machines. After that presenting
 * it is a replay: its tag proves that it was one of the grant's, and the grant
 * ends.
 *
 * @see RFC 9700 §4.14.2
 * @module
 */
import { OAuthError } from "../errors.ts";
import type { Client } from "../auth/rules/client.ts";
import { parseCredential } from "../auth/rules/credential.ts";
import { deriveKey, unwrapDataKey } from "../auth/rules/data_key.ts";
import { type Grant, useGrant } from "../auth/rules/grant.ts";
import { SUCCESSOR_MARGIN_SECONDS } from "../auth/rules/lifetimes.ts";
import { isMinted } from "../auth/rules/refresh_token.ts";
import type { IssuedTokens } from "../auth/rules/token_request.ts";
import { seal, unseal } from "../crypto/seal.ts";
import type { Database, Entry } from "./database.ts";
import { grantStore } from "./grants.ts";
import {
  issueTokens,
  type KeptRefreshToken,
  type SuccessorRecord,
  type TokenRecord,
} from "./issuance.ts";
import {
  grantKey,
  refreshTokenKey,
  successorKey,
  upstreamKey,
} from "./keys.ts";
import type { Write } from "./transaction.ts";
import type { UpstreamRecord } from "./upstream_tokens.ts";

/** All records that a refresh token leads to. */
export interface ReadRefreshToken {
  token: Entry<TokenRecord>;
  grant: Entry<Grant>;
  upstream: Entry<UpstreamRecord>;
  successor: Entry<SuccessorRecord>;
}

/**
 * A refresh token that may be exchanged, and the records that its exchange
 * depends on.
 */
export interface RefreshableGrant {
  grant: Grant;
  dataKey: Uint8Array;
  record: TokenRecord;
  read: ReadRefreshToken;
  /** The pair that it was exchanged for, if its access token has expired. */
  repeated?: KeptRefreshToken & { successor: Entry<SuccessorRecord> };
}

export type RefreshTokenStore = ReturnType<typeof refreshTokenStore>;

/** Opens the refresh tokens of a database. */
export function refreshTokenStore(database: Database) {
  const grants = grantStore(database);

  /** Reads all records of a refresh token; undefined if it is not one. */
  async function read(
    refreshToken: string,
  ): Promise<ReadRefreshToken | undefined> {
    const credential = parseCredential(refreshToken);
    if (credential?.kind !== "refresh_token") return undefined;
    const { grantId } = credential;
    const [token, grant, upstream, successor] = await database.getMany<
      [TokenRecord, Grant, UpstreamRecord, SuccessorRecord]
    >([
      refreshTokenKey(refreshToken),
      grantKey(grantId),
      upstreamKey(grantId),
      successorKey(refreshToken),
    ]);
    return { token, grant, upstream, successor };
  }

  /** Finds what a refresh token stands for. */
  async function find(
    refreshToken: string,
    clientId: Client["clientId"],
    reading = read(refreshToken),
  ): Promise<RefreshableGrant | { successors: IssuedTokens }> {
    const found = await reading;
    if (!found) refuse();
    const { token: { value: record }, successor } = found;
    const grant = found.grant.value;
    if (grant?.status !== "active") refuse();
    if (grant.clientId !== clientId) refuse();
    const grantId = grant.id;
    if (successor.value) {
      const key = deriveKey(refreshToken, "successor");
      const text = await unseal(key, successor.value.sealed, grantId);
      const successors: IssuedTokens = JSON.parse(text);
      const leastExpiresAt = database.now() + SUCCESSOR_MARGIN_SECONDS;
      return successors.expiresAt > leastExpiresAt
        ? { successors }
        : await findNext(refreshToken, clientId, { successors, successor });
    }
    if (!record && !isTagged(refreshToken, grant)) refuse();
    if (!record || record.usedAt !== undefined) {
      await grants.close(grantId, { read: found.grant });
      throw new OAuthError(
        "invalid_grant",
        "The refresh token was used before",
      );
    }
    const dataKey = await unwrapDataKey(
      record.wrappedKey,
      grantId,
      refreshToken,
    );
    return { grant, dataKey, record, read: found };
  }

  /** Finds what a used token stands for whose access token has expired. */
  async function findNext(
    used: string,
    clientId: Client["clientId"],
    { successors, successor }: {
      successors: IssuedTokens;
      successor: Entry<SuccessorRecord>;
    },
  ): Promise<RefreshableGrant | { successors: IssuedTokens }> {
    const refreshToken = successors.refreshToken!;
    const next = await find(refreshToken, clientId);
    // Unless it was used this moment: then nothing is left of its predecessor.
    if (!("grant" in next)) return await find(used, clientId);
    const { record } = next;
    return { ...next, repeated: { refreshToken, record, successor } };
  }

  return {
    read,

    /**
     * Finds the grant of a client's refresh token; or, until they are used, the
     * tokens that it was exchanged for.
     *
     * @param reading the token, if reading it has begun
     * @throws {OAuthError} `invalid_grant`; a replay has then ended the grant
     */
    find,

    /**
     * Exchanges a token; undefined if another request was faster: find it
     * again.
     *
     * @param also writes of the same commit
     */
    async rotate(
      refreshToken: string,
      { grant, dataKey, record, read, repeated }: RefreshableGrant,
      scopes: readonly string[],
      also: Write = () => {},
    ): Promise<IssuedTokens | undefined> {
      const time = database.now();
      const used = useGrant(grant, { refreshable: true, now: time });
      const { expiresAt } = used;
      const usedKey = refreshTokenKey(refreshToken);
      const answerKey = successorKey(refreshToken);
      const { tokens, write } = await issueTokens(used, {
        dataKey,
        scopes,
        now: time,
        kept: repeated,
        answer: answerKey,
        obsolete: [usedKey, answerKey],
      });
      const sealed = await seal(
        deriveKey(refreshToken, "successor"),
        JSON.stringify(tokens),
        grant.id,
      );
      const won = await database.commit((transaction) => {
        also(transaction);
        write(transaction)
          .check(read.token, read.grant)
          // A client cannot ask for it before it is there.
          .set<SuccessorRecord>(answerKey, { sealed, expiresAt });
        if (repeated) transaction.check(repeated.successor);
        else {
          transaction.delete(...record.obsolete ?? [])
            .set<TokenRecord>(usedKey, {
              wrappedKey: "",
              usedAt: time,
              expiresAt,
            });
        }
      });
      return won ? tokens : undefined;
    },
  };
}

/** True if a refresh token is one of the grant's, used or not. */
function isTagged(refreshToken: string, { refreshKey }: Grant): boolean {
  return refreshKey !== undefined && isMinted(refreshToken, refreshKey);
}

function refuse(): never {
  throw new OAuthError(
    "invalid_grant",
    "The refresh token is unknown, expired or revoked",
  );
}
