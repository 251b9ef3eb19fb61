/**
 * The ledger: the latest calls of a connection, shown to its person. It is
 * loaded with the first call.
 *
 * @module
 */
import type { Feature } from "../../core/server/feature.ts";
import type { LedgerStore } from "./ledger.ts";

export const ledgerFeature: Feature = {
  name: "ledger",
  open(server) {
    if (!server.config.auth.oauth?.ledgerDays) return {};
    let ledger: LedgerStore | undefined;
    async function load(): Promise<LedgerStore> {
      const { ledgerOf } = await import("./ledger.ts");
      return ledger = ledgerOf(server)!;
    }
    return {
      ledger: {
        note(...call) {
          if (ledger) ledger.note(...call);
          else {
            server.database.background(async () =>
              (await load()).note(...call)
            );
          }
        },
        list: async (ids) => await (await load()).list(ids),
        close: async () => await ledger?.close(),
      },
    };
  },
};
