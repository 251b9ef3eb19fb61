/**
 * People's own accounts and keys at other services: `needs` of a tool, a
 * resource or a prompt, and the pages that connect accounts.
 *
 * @module
 */
import type { OpenFeature } from "../../core/server/feature.ts";
import type { FindNeeds } from "../../core/mcp/exchange/needs.ts";
import { makeOnce } from "../../core/cache.ts";
import type { OnAccountPage } from "../account_page/feature.ts";
import { needsAddition } from "./account_needs.ts";
import { ACCOUNTS } from "./settings.ts";
import type { ServerAccounts } from "./server_accounts.ts";

/** The minimum time between two reads of the revocation queue. */
const NOTICE_MILLISECONDS = 1000;

export const accountsFeature: OnAccountPage = {
  name: "accounts",
  accountPage: () => import("./on_account_page.ts"),
  settings: {
    title: "AUTH_STRATEGY=oauth: people",
    rows: ACCOUNTS,
    strategy: "oauth",
  },
  catalogue: needsAddition,
  open(server): OpenFeature {
    const { config: { auth: { oauth } }, seals, services } = server;
    let accounts: ServerAccounts | undefined;
    let finder: typeof import("./account_finder.ts") | undefined;
    let noticedMilliseconds = -Infinity;
    const load = makeOnce(async () => {
      const { accountsOf } = await import("./server_accounts.ts");
      return accounts ??= accountsOf(server);
    });
    const revoke = (verb: "notice" | "poll") =>
      oauth && seals && server.database.background(async () => {
        await (await load()).revoke(verb);
      });
    const missing = async (of = services) => {
      if (of.length === 0) return [];
      const { missingAccountSettings } = await import("./account_settings.ts");
      return missingAccountSettings(server, of);
    };
    const find: FindNeeds = async (...of) => {
      finder = await import("./account_finder.ts");
      return await finder.findAccounts(await load(), ...of);
    };
    return {
      // Once loaded, no promise is awaited, because each would slow the call.
      findNeeds: (...of) =>
        accounts && finder ? finder.findAccounts(accounts, ...of) : find(...of),
      readAhead: (name) => accounts?.readAhead(name),
      notice() {
        const now = performance.now();
        if (now - noticedMilliseconds < NOTICE_MILLISECONDS) return;
        noticedMilliseconds = now;
        revoke("notice");
      },
      wake: () => revoke("poll"),
      missing,
      async faults() {
        const names = await missing();
        return names.length > 0 ? { accounts: "off", missing: names } : {};
      },
      records: async () => (await load()).store,
      async warn(log) {
        if (services.length === 0) return;
        const { warnOfAccounts } = await import("./account_settings.ts");
        warnOfAccounts(await load(), await missing(), log);
      },
    };
  },
};
