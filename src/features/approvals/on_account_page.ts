/**
 * The part of the account page with the waiting approvals, and their pages.
 *
 * @module
 */
import type { AccountPageAddition } from "../account_page/account_pages.ts";
import { printDuration } from "../../core/pages/times.tsx";
import { approvalEndpoints } from "./approval_pages.ts";
import { asksForPasskeys } from "./passkeys.ts";
import { PASSKEYS_SECONDS } from "./passkey_store.ts";
import { passkeyEndpoints, passkeysPart } from "./passkeys_part.tsx";
import {
  endRememberedHandler,
  rememberedSection,
} from "./remembered_section.tsx";
import { receiptsSection } from "./receipts_section.tsx";

const addition: AccountPageAddition = {
  parts: (services) =>
    asksForPasskeys(services.server) ? [passkeysPart(services)] : [],
  routes(app, services, rated) {
    if (asksForPasskeys(services.server)) {
      const passkeys = passkeyEndpoints(services);
      app.post("/account/passkeys", rated, passkeys.make);
      app.post("/account/passkeys/confirm", rated, passkeys.confirm);
      app.post("/account/passkeys/remove", rated, passkeys.remove);
    }
    const approval = approvalEndpoints(services);
    app.get("/approve/:id", rated, approval.show);
    app.post("/approve/:id", rated, approval.answer);
    app.post("/account/remembered", rated, endRememberedHandler(services));
  },
  section: rememberedSection,
  amongCalls: receiptsSection,
  kept: [
    {
      what: "Calls that you let run without asking you, sealed",
      keys: ["remembered"],
      until: () => "until you end it, 24 hours at most",
      member: "remembered",
    },
    {
      what:
        "Approvals: what you or an app of yours asked for, who decided, and " +
        "what came of it, sealed",
      keys: ["receipt", "receipt-of"],
      until: ({ ledgerDays }) =>
        ledgerDays > 0 ? printDuration(ledgerDays * 86_400) : undefined,
      member: "receipts",
    },
    {
      what:
        "Your passkeys: their names, their public keys and when you used them",
      keys: ["passkeys"],
      until: () => `${printDuration(PASSKEYS_SECONDS)} after their last use`,
      member: "passkeys",
    },
    {
      what: "A mark that you had passkeys, once you erased everything",
      keys: ["passkeys-gone"],
      until: () => "1 day",
      stays: "so that no one else can make one in your place at once",
    },
  ],
  waiting: (session, services) => approvalEndpoints(services).waiting(session),
};

export default addition;
