/**
 * The ledger: the latest tool calls of a connection, shown to its person.
 * Loaded by the first call.
 *
 * @module
 */
import type { OnAccountPage } from "../account_page/feature.ts";
import type { LedgerStore } from "./ledger.ts";

export const ledgerFeature: OnAccountPage = {
  name: "ledger",
  accountPage: () => import("./on_account_page.ts"),
  open(server) {
    if (!server.config.auth.oauth?.ledgerDays) return {};
    let ledger: LedgerStore | undefined;
    let isClosed = false;
    let loading: Promise<LedgerStore> | undefined;
    function load(): Promise<LedgerStore> {
      return loading ??= import("./ledger.ts").then(({ ledgerOf }) =>
        ledger = ledgerOf(server)!
      );
    }
    return {
      ledger: {
        note(...call) {
          if (ledger) ledger.note(...call);
          else if (!isClosed) {
            server.database.background(async () =>
              (await load()).note(...call)
            );
          }
        },
        list: async (ids) => await (await load()).list(ids),
        async close() {
          isClosed = true;
          // Also writes a call that was noted just now.
          await (await loading)?.close();
        },
      },
    };
  },
};
