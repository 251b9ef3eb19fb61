/**
 * LiveAccessToken tokens, looked up with their grant in one read.
 *
 * @module
 */
import { parseCredential } from "../oauth/credential.ts";
import type { Grant } from "../oauth/grant.ts";
import { unwrapDataKey } from "../oauth/data_key.ts";
import type { TokenRecord } from "./issuance.ts";
import { accessTokenKey, grantKey } from "./keys.ts";
import { alive, commit, reach } from "./kv.ts";

/** A live access token's grant. */
export interface LiveAccessToken {
  grant: Grant;
  scopes: readonly string[];
  /** Of the token, in epoch seconds. */
  expiresAt: number;
  /** Opens the grant's provider tokens; costs some crypto, so on demand. */
  dataKey(): Promise<Uint8Array>;
}

/** LiveAccessToken tokens in Deno KV. */
export interface AccessTokenStore {
  /** A live token of an active grant. */
  find(accessToken: string): Promise<LiveAccessToken | undefined>;
  /** Ends a token; its grant lives on. */
  revoke(accessToken: string): Promise<void>;
}

/** LiveAccessToken tokens in a database. */
export function accessTokenStore(kv: Deno.Kv): AccessTokenStore {
  return {
    async find(accessToken) {
      const credential = parseCredential(accessToken);
      if (credential?.kind !== "access_token") return undefined;
      const [tokenEntry, grantEntry] = await reach(() =>
        kv.getMany<[TokenRecord, Grant]>([
          accessTokenKey(accessToken),
          grantKey(credential.grantId),
        ])
      );
      const record = alive(tokenEntry)?.value;
      const grant = alive(grantEntry)?.value;
      if (!record || grant?.status !== "active") return undefined;
      return {
        grant,
        scopes: record.scopes ?? grant.scopes,
        expiresAt: record.expiresAt,
        dataKey: () => unwrapDataKey(record.wrappedKey, grant.id, accessToken),
      };
    },

    async revoke(accessToken) {
      await commit(
        kv,
        (operation) => operation.delete(accessTokenKey(accessToken)),
      );
    },
  };
}
