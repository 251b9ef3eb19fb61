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
import { grantStore } from "./grants.ts";
import { issueTokens, type TokenRecord } from "./issuance.ts";
import { grantKey, refreshTokenKey, successorKey } from "./keys.ts";
import { alive, commit, expireIn, type Expiring, find, reach } from "./kv.ts";
import { now } from "../clock.ts";

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

/** Refresh tokens in Deno KV. */
export interface RefreshTokenStore {
  /**
   * What a refresh token of a client stands for: its grant, or, shortly after
   * its exchange, the tokens that it was exchanged for.
   *
   * @throws {OAuthError} `invalid_grant`; a replay has then ended the grant
   */
  find(
    refreshToken: string,
    clientId: Client["clientId"],
  ): Promise<RefreshableGrant | { successors: IssuedTokens }>;
  /** Exchanges a token; undefined when somebody was faster: find it again. */
  rotate(
    refreshToken: string,
    found: RefreshableGrant,
    scopes: readonly string[],
  ): Promise<IssuedTokens | undefined>;
}

/** Refresh tokens in a database. */
export function refreshTokenStore(kv: Deno.Kv): RefreshTokenStore {
  async function findSuccessors(
    refreshToken: string,
    grantId: string,
  ): Promise<IssuedTokens | undefined> {
    const found = await find<SuccessorRecord>(kv, successorKey(refreshToken));
    if (!found) return undefined;
    const key = deriveKey(refreshToken, "successor");
    return JSON.parse(await unseal(key, found.value.sealed, grantId));
  }

  return {
    async find(refreshToken, clientId) {
      const credential = parseCredential(refreshToken);
      if (credential?.kind !== "refresh_token") refuse();
      const { grantId } = credential;
      const entries = await reach(() =>
        kv.getMany<[TokenRecord, Grant]>([
          refreshTokenKey(refreshToken),
          grantKey(grantId),
        ])
      );
      const record = alive(entries[0])?.value;
      const grant = alive(entries[1])?.value;
      if (!record || grant?.status !== "active") refuse();
      if (grant.clientId !== clientId) refuse();
      if (record.usedAt !== undefined) {
        const successors = await findSuccessors(refreshToken, grantId);
        if (successors) return { successors };
        await grantStore(kv).close(grantId, "refresh token replayed");
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

    async rotate(refreshToken, { grant, dataKey, entries, record }, scopes) {
      const time = now();
      const used = useGrant(grant, { refreshable: true, now: time });
      const { tokens, write } = await issueTokens(used, {
        dataKey,
        scopes,
        refreshable: true,
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
      const won = await commit(kv, (operation) =>
        write(operation)
          .check(...entries)
          .set(refreshTokenKey(refreshToken), spent, expireIn(spent))
          .set(successorKey(refreshToken), successor, expireIn(successor)));
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
