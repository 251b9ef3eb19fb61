/**
 * The revocation of people's tokens at their services, once they are deleted
 * here or replaced.
 *
 * @see RFC 7009
 * @module
 */
import type { Logger } from "../../log/log.ts";
import type { AccountVault } from "../../store/account_vault.ts";
import type { ForgottenAccount } from "../../store/accounts.ts";
import type { Database } from "../../store/database.ts";
import type { AccountClient } from "./account_client.ts";

/**
 * Makes what revokes the tokens of deleted accounts, in the background. `kept`
 * are the tokens in their place, if any: some services give the same ones again.
 */
export function accountRevocation({ vault, clients, database, log }: {
  /** Opens the tokens; undefined without `SECRETS_KEYS`. */
  vault: Pick<AccountVault, "open"> | undefined;
  clients: ReadonlyMap<string, AccountClient>;
  database: Pick<Database, "background">;
  log: Logger;
}): (account: ForgottenAccount, kept?: string) => void {
  return ({ key, value }, kept) => {
    const { service, oauth } = value;
    const client = clients.get(service);
    if (!vault || !client?.revokes || oauth?.application !== client.id) return;
    database.background(async () => {
      try {
        const text = await vault.open({ key, value });
        if (text === undefined) throw new Error("No key opens them");
        const tokens = JSON.parse(text);
        const { accessToken } = kept === undefined ? {} : JSON.parse(kept);
        if (accessToken !== tokens.accessToken) await client.revoke(tokens);
      } catch (error) {
        log.warning("Tokens of an account could not be revoked", {
          service,
          error,
        });
      }
    });
  };
}
