/**
 * Warnings about what a start has found, loaded where it may have found some.
 *
 * @module
 */
import type { Logger } from "../log/log.ts";
import type { Database } from "../store/database.ts";
import { noteStart } from "../store/last_start.ts";
import type { Plan } from "./plan.ts";

/** Warns of settings without which tools have no accounts of people. */
export function reportAccounts(
  plan: Plan,
  log: Logger,
): void {
  for (const setting of plan.missingAccountSettings()) {
    switch (setting) {
      case "SECRETS_KEYS":
        log.warning(
          "Tools that need people's accounts are off: set SECRETS_KEYS " +
            "(openssl rand -base64 32)" +
            (plan.config.auth.oauth
              ? ""
              : ", and AUTH_STRATEGY=oauth so that people sign in"),
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
          "Tools that act at a service are off: register this server there",
          { setting },
        );
    }
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
