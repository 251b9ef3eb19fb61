/**
 * Access tokens, looked up with their grant in one read.
 *
 * @module
 */
import { parseCredential } from "../oauth/credential.ts";
import type { Grant } from "../oauth/grant.ts";
import { unwrapDataKey } from "../oauth/data_key.ts";
import type { Database } from "./database.ts";
import type { TokenRecord } from "./issuance.ts";
import { accessTokenKey, grantKey } from "./keys.ts";

/** A live access token's grant. */
export interface LiveAccessToken {
  grant: Grant;
  scopes: readonly string[];
  /** Of the token, in epoch seconds. */
  expiresAt: number;
  /** Opens the grant's provider tokens; costs some crypto, so on demand. */
  dataKey(): Promise<Uint8Array>;
}

export type AccessTokenStore = ReturnType<typeof accessTokenStore>;

/** Access tokens in a database. */
export function accessTokenStore(database: Database) {
  return {
    /** A live token of an active grant. */
    async find(accessToken: string): Promise<LiveAccessToken | undefined> {
      const credential = parseCredential(accessToken);
      if (credential?.kind !== "access_token") return undefined;
      const [{ value: record }, { value: grant }] = await database.getMany<
        [TokenRecord, Grant]
      >([accessTokenKey(accessToken), grantKey(credential.grantId)]);
      if (!record || grant?.status !== "active") return undefined;
      return {
        grant,
        scopes: record.scopes ?? grant.scopes,
        expiresAt: record.expiresAt,
        dataKey: () => unwrapDataKey(record.wrappedKey, grant.id, accessToken),
      };
    },

    /** Ends a token; its grant lives on. */
    async revoke(accessToken: string): Promise<void> {
      await database.commit((transaction) =>
        transaction.delete(accessTokenKey(accessToken))
      );
    },
  };
}
