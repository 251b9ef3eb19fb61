/**
 * The part of approvals on the account page: their pages, and the list of those
 * that wait.
 *
 * @module
 */
import type { AccountAddition } from "../account_page/account_pages.ts";
import { printDuration } from "../../core/pages/times.tsx";
import { approvalEndpoints } from "./approval_pages.ts";
import { receiptsSection } from "./receipts_section.tsx";

const addition: AccountAddition = {
  routes(app, services, rated) {
    const approval = approvalEndpoints(services);
    app.get("/approve/:id", rated, approval.show);
    app.post("/approve/:id", rated, approval.answer);
  },
  amongCalls: receiptsSection,
  kept: [
    {
      what:
        "Approvals: what you or an app of yours asked for, who decided, and " +
        "what came of it, sealed",
      keys: ["receipt", "receipt-of"],
      until: ({ ledgerDays }) =>
        ledgerDays > 0 ? printDuration(ledgerDays * 86_400) : undefined,
      member: "receipts",
    },
  ],
  waiting: (session, services) => approvalEndpoints(services).waiting(session),
};

export default addition;
