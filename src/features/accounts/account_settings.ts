/**
 * The settings without which tools cannot act with people's accounts. This is
 * loaded where there are such tools.
 *
 * @module
 */
import type { AccountService } from "../../authoring/account.ts";
import { accountSetting } from "../../authoring/oauth_account.ts";
import { isConnectable } from "./account_needs.ts";
import { missingForExchange } from "../../core/settings/token_exchange.ts";
import type { Plan } from "../../core/server/plan.ts";

/** Lists the settings that are missing for people's accounts at services. */
export function missingAccountSettings(
  { config: { auth: { oauth }, own }, seals }: Plan,
  services: readonly AccountService[],
): string[] {
  const connectable = services.filter(isConnectable);
  const applications = connectable.flatMap((service) =>
    service.kind === "account" ? [accountSetting(service, "CLIENT_ID")] : []
  ).filter((name) => own[name] === undefined);
  return [
    ...seals || connectable.length === 0 ? [] : ["SECRETS_KEYS"],
    ...oauth || connectable.length === 0 ? [] : ["AUTH_STRATEGY"],
    ...applications,
    ...missingForExchange(
      services.filter((it) => !isConnectable(it)),
      oauth?.providers,
    ),
  ];
}
