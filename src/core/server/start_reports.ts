/**
 * Warnings about what a start has found, loaded where it may have found some.
 *
 * @module
 */
import { scopeDoubts } from "../../authoring/scope.ts";
import type { Logger } from "../log/log.ts";
import type { Database } from "../kv/database.ts";
import { accountVault } from "../../features/accounts/account_vault.ts";
import { noteStart } from "../store/last_start.ts";
import { sealingOf } from "../store/own_sealing.ts";
import { missingAccountSettings } from "../../features/accounts/account_settings.ts";
import { neededScopes, type Plan } from "./plan.ts";

/** Warns of probable mistakes, at the first start only. */
export function reportDoubts(plan: Plan): void {
  plan.isReported = true;
  const { options, config, log } = plan;
  const { unneeded, wordless } = scopeDoubts(
    neededScopes(options),
    options.scopes,
  );
  const start = log.logger("start");
  for (const note of config.notes) start.warning(note);
  for (const scope of unneeded) {
    start.warning("A scope has words, but nothing here needs it", { scope });
  }
  for (const scope of wordless) {
    start.warning("A scope has no words: people are shown its name", {
      scope,
    });
  }
}

/** Warns of settings without which tools have no accounts of people. */
export function reportAccounts(
  plan: Plan,
  log: Logger,
): void {
  for (
    const setting of missingAccountSettings(plan, plan.accountServices)
  ) {
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

/** Warns of keys that do not open what is sealed: one account tells. */
export async function reportSealed(
  { config: { auth: { oauth } }, options }: Plan,
  database: Database,
  log: Logger,
): Promise<void> {
  const sealing = oauth && sealingOf(oauth.secretsKeys, options.sealing, log);
  if (!sealing) return;
  const vault = accountVault(database, { sealing });
  for await (const [found] of vault.all(2)) {
    if (!found) continue;
    if (await vault.open(found) === undefined) {
      const { service, keyId } = found.value;
      log.warning("An account could not be opened", {
        service,
        keyId,
        ...!options.sealing && { setting: "SECRETS_KEYS" },
      });
    }
    return;
  }
}

/** Warns of connections that were made at another `BASE_URL`. */
export async function reportOldAddress(
  database: Database,
  baseUrl: string,
  log: Logger,
): Promise<void> {
  const elsewhere = await noteStart(database, baseUrl);
  if (elsewhere === undefined) return;
  log.warning(
    "Connections were made at another BASE_URL, and are not good at this one: " +
      "their people connect again",
    {
      baseUrl,
      formerBaseUrl: elsewhere.baseUrl,
      connections: elsewhere.connections,
    },
  );
}
