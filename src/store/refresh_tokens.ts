/**
 * Refresh tokens: each is exchanged once, for a new pair. For 30 seconds the
 * used one answers with that same pair, because responses get lost and some
 * clients refresh from two machines; after that it is a replay, and the grant
 * ends.
 *
 * @see RFC 9700 §4.14.2
 * @module
 */
import { OAuthError } from "../errors.ts";
import type { Client } from "../oauth/client.ts";
import { parseCredential } from "../oauth/credential.ts";
import { deriveKey, unwrapDataKey } from "../oauth/data_key.ts";
import { type Grant, useGrant } from "../oauth/grant.ts";
import { SUCCESSOR_TTL_SECONDS } from "../oauth/lifetimes.ts";
import type { IssuedTokens } from "../oauth/token_request.ts";
import { seal, unseal } from "../seal.ts";
import type { Database, Expiring } from "./database.ts";
import { grantStore } from "./grants.ts";
import { issueTokens, type TokenRecord } from "./issuance.ts";
import { grantKey, refreshTokenKey, successorKey } from "./keys.ts";

interface SuccessorRecord extends Expiring {
  /** The issued tokens, under a key derived from their predecessor. */
  sealed: string;
}

/** A refresh token that may be exchanged, and what its exchange rests on. */
export interface RefreshableGrant {
  grant: Grant;
  dataKey: Uint8Array;
  entries: Deno.AtomicCheck[];
  record: TokenRecord;
}

export type RefreshTokenStore = ReturnType<typeof refreshTokenStore>;

/** Refresh tokens in a database. */
export function refreshTokenStore(database: Database) {
  const grants = grantStore(database);

  async function findSuccessors(
    refreshToken: string,
    grantId: string,
  ): Promise<IssuedTokens | undefined> {
    const found = await database.find<SuccessorRecord>(
      successorKey(refreshToken),
    );
    if (!found) return undefined;
    const key = deriveKey(refreshToken, "successor");
    return JSON.parse(await unseal(key, found.value.sealed, grantId));
  }

  return {
    /**
     * What a refresh token of a client stands for: its grant, or, shortly after
     * its exchange, the tokens that it was exchanged for.
     *
     * @throws {OAuthError} `invalid_grant`; a replay has then ended the grant
     */
    async find(
      refreshToken: string,
      clientId: Client["clientId"],
    ): Promise<RefreshableGrant | { successors: IssuedTokens }> {
      const credential = parseCredential(refreshToken);
      if (credential?.kind !== "refresh_token") refuse();
      const { grantId } = credential;
      const entries = await database.getMany<[TokenRecord, Grant]>([
        refreshTokenKey(refreshToken),
        grantKey(grantId),
      ]);
      const [{ value: record }, { value: grant }] = entries;
      if (!record || grant?.status !== "active") refuse();
      if (grant.clientId !== clientId) refuse();
      if (record.usedAt !== undefined) {
        const successors = await findSuccessors(refreshToken, grantId);
        if (successors) return { successors };
        await grants.close(grantId);
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
      return { grant, dataKey, entries, record };
    },

    /** Exchanges a token; undefined when someone was faster: find it again. */
    async rotate(
      refreshToken: string,
      { grant, dataKey, entries, record }: RefreshableGrant,
      scopes: readonly string[],
    ): Promise<IssuedTokens | undefined> {
      const time = database.now();
      const used = useGrant(grant, { refreshable: true, now: time });
      const { tokens, write } = await issueTokens(used, {
        dataKey,
        scopes,
        refreshable: true,
        now: time,
      });
      const spent: TokenRecord = { ...record, wrappedKey: "", usedAt: time };
      const successor: SuccessorRecord = {
        sealed: await seal(
          deriveKey(refreshToken, "successor"),
          JSON.stringify(tokens),
          grant.id,
        ),
        expiresAt: time + SUCCESSOR_TTL_SECONDS,
      };
      const won = await database.commit((transaction) =>
        write(transaction)
          .check(...entries)
          .set(refreshTokenKey(refreshToken), spent)
          .set(successorKey(refreshToken), successor)
      );
      return won ? tokens : undefined;
    },
  };
}

function refuse(): never {
  throw new OAuthError(
    "invalid_grant",
    "The refresh token is unknown, expired or revoked",
  );
}
