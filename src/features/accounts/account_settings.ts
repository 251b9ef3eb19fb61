/**
 * Finds missing settings that people's accounts need. Loaded only if a tool
 * needs accounts.
 *
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import { isConnectable, isUpstream } from "./account_needs.ts";
import { missingForExchange } from "../../core/settings/token_exchange.ts";
import type { OpenedServer } from "../../core/store/opened_server.ts";
import type { Logger } from "../../core/log/log.ts";
import type { ServerAccounts } from "./server_accounts.ts";

export function missingAccountSettings(
  { config: { auth: { oauth }, own }, seals }: OpenedServer,
  services: readonly AccountService[],
): string[] {
  const connectable = services.filter(isConnectable);
  const applications = connectable.flatMap((service) =>
    service.kind === "account" && !service.isMcp
      ? [accountSetting(service, "CLIENT_ID")]
      : []
  ).filter((name) => own[name] === undefined);
  return [
    ...seals || connectable.length === 0 ? [] : ["SECRETS_KEYS"],
    ...oauth || connectable.length === 0 ? [] : ["AUTH_STRATEGY"],
    ...applications,
    ...missingForExchange(services.filter(isUpstream), oauth?.providers),
  ];
}

/**
 * Warns at startup of missing settings, and of encryption keys that fail to
 * decrypt one of the accounts.
 */
export function warnOfAccounts(
  accounts: ServerAccounts,
  missing: readonly string[],
  log: Logger,
): void {
  warnOfMissing(missing, log);
  accounts.server.database.background(() => warnOfSealed(accounts, log));
}

async function warnOfSealed(
  { vault, server }: ServerAccounts,
  log: Logger,
): Promise<void> {
  if (!vault) return;
  for await (const [found] of vault.all(2)) {
    if (!found) continue;
    if (await vault.open(found) === undefined) {
      const { service, keyId } = found.value;
      log.warning("An account could not be opened", {
        service,
        keyId,
        ...!server.sealing && { setting: "SECRETS_KEYS" },
      });
    }
    return;
  }
}

function warnOfMissing(missing: readonly string[], log: Logger): void {
  for (const setting of missing) {
    switch (setting) {
      case "SECRETS_KEYS":
        log.warning(
          "Tools that need people's accounts are off: set SECRETS_KEYS " +
            "(openssl rand -base64 32)",
        );
        break;
      case "AUTH_STRATEGY":
        log.warning(
          "Tools that need people's accounts are off: set " +
            "AUTH_STRATEGY=oauth, so that people sign in",
        );
        break;
      default:
        log.warning(
          setting.startsWith("ACCOUNT_")
            ? "Tools that act at a service are off: register this server there"
            : "Tools that act at a service behind the sign-in provider are off: " +
              (setting === "OAUTH_PROVIDER"
                ? "none of the providers exchanges tokens for it, or several do"
                : "Microsoft exchanges the token of a sign-in only if that has " +
                  "asked for a scope of this server's application, such as " +
                  "its client ID with /.default"),
          { setting },
        );
    }
  }
}
