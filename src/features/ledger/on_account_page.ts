/**
 * Adds the latest calls to the account page.
 *
 * @module
 */
import { printDuration } from "../../core/pages/times.tsx";
import type { AccountPageAddition } from "../account_page/account_pages.ts";
import { callsPart } from "./calls_part.ts";
import { ledgerOf } from "./ledger.ts";

const addition: AccountPageAddition = {
  parts(services) {
    const ledger = ledgerOf(services.server);
    return ledger ? [callsPart(services, ledger)] : [];
  },
  callsHref({ form: { base }, isOperator, session }, client, { server }) {
    if (!ledgerOf(server)) return undefined;
    const query = new URLSearchParams({
      ...isOperator && { person: session.subject },
      client,
    });
    return `${base}/account/calls?${query}`;
  },
  kept: [
    {
      what: "Your latest calls: tool, time and outcome",
      keys: ["ledger"],
      until: ({ ledgerDays }) =>
        ledgerDays > 0
          ? printDuration(ledgerDays * 86_400) +
            ", or until their connection ends"
          : undefined,
      member: "connections",
    },
  ],
};

export default addition;
