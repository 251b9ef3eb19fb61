/**
 * The account page's part for accounts at services, and the pages that connect
 * them.
 *
 * @module
 */
import { titleOf } from "../../authoring/account.ts";
import type { AuthServices } from "../../core/auth/services.ts";
import { printDuration } from "../../core/pages/times.tsx";
import type { AccountPageAddition } from "../account_page/account_pages.ts";
import { accountClients } from "./account_clients.ts";
import {
  accountsPart,
  canRevokeAtService,
  disconnection,
} from "./accounts_part.ts";
import { connectEndpoints } from "./connect.ts";
import { REVOCATION_SECONDS } from "./revocation_record.ts";
import { accountsOf } from "./server_accounts.ts";
import { ACCOUNTS } from "./settings.ts";

const addition: AccountPageAddition = {
  parts: (services) =>
    accountsOf(services.server).services.size > 0
      ? [accountsPart(withAccounts(services))]
      : [],
  routes(app, given, rated) {
    const services = withAccounts(given);
    const connect = connectEndpoints(services);
    app.post("/account/accounts/disconnect", rated, disconnection(services));
    app.get("/connect/:name", rated, connect.show);
    app.post("/connect/:name", rated, connect.answer);
    app.get("/connect/:name/callback", rated, connect.finish);
  },
  hasAccounts: ({ server }) => accountsOf(server).services.size > 0,
  accountsOf: (subject, { server }) => accountsOf(server).store.listOf(subject),
  async unrevokedOf(subject, given) {
    const services = withAccounts(given);
    const own = await services.accounts.listOf(subject);
    const titles = await Promise.all(own.map(async (account) => {
      if (await canRevokeAtService(account, services)) return [];
      const known = services.accountServices.get(account.service);
      return [known ? titleOf(known) : account.service];
    }));
    return [...new Set(titles.flat())];
  },
  kept: [
    {
      what: "Your accounts at other services, their keys and tokens sealed",
      keys: ["account"],
      until: ({ features }) => {
        const days = features.of(ACCOUNTS.ACCOUNT_IDLE_DAYS);
        return "until you disconnect them, or " +
          `${printDuration(days * 86_400)} after their last use`;
      },
      member: "accounts",
    },
    {
      what:
        "Tokens of accounts that you disconnected, sealed and without a name, for their service to end",
      keys: ["revocation"],
      until: () => `until it has, ${printDuration(REVOCATION_SECONDS)} at most`,
      stays: "so that the service ends them",
    },
  ],
};

function withAccounts<S extends AuthServices>(services: S) {
  const { store, vault, services: accountServices, server } = accountsOf(
    services.server,
  );
  return {
    ...services,
    accounts: store,
    vault,
    accountServices,
    accountClients: accountClients(server),
  };
}

export default addition;
