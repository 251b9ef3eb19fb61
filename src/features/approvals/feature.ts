/**
 * Approvals: tools that run only once a person has approved on a page of the
 * server.
 *
 * - An approval is stored as a wait: encrypted in a `WaitRecord`, and decrypted
 *   in a `CallApproval`. `Pressed` is the person's answer in it, and `Verdict`
 *   is what the call then has to do.
 * - A receipt tells people later which call was approved or refused.
 * - Functions named like `writing` or `ending` make a part of a commit.
 *
 * @module
 */
import type { CatalogueAddition } from "../../core/catalogue/compiled_definitions.ts";
import type { OnAccountPage } from "../account_page/feature.ts";
import { approvalTools } from "./approval_tools.ts";

/** The member of a tool's `_meta` that says which calls need approval. */
const APPROVAL = "tool-server/approval";

/** The member with the scope of those who approve; absent for the caller. */
const APPROVER = "tool-server/approver";

function addition(): CatalogueAddition {
  return {
    addTool({ approval, prepare }) {
      if (!approval) return undefined;
      const { remember, by, passkey, when } = approval;
      if (remember && (typeof by === "object" || passkey)) {
        throw new Error(
          "approval.remember is for callers who press a button: leave out by and passkey",
        );
      }
      const waits = when || remember ? "sometimes" : "always";
      const approver = typeof by === "object" && { [APPROVER]: by.scope };
      if (!prepare) return { [APPROVAL]: waits, ...approver };
      throw new Error(
        "prepare acts before anyone has approved: move what it does to run, or leave approval out",
      );
    },
    resources: [],
    select: () => ({ listed: [] }),
  };
}

export const approvalsFeature: OnAccountPage = {
  name: "approvals",
  accountPage: () => import("./on_account_page.ts"),
  open(server, { catalogue, sites }) {
    const { tools, serverInfo } = catalogue;
    const addresses = () => sites.addresses();
    approvalTools.set(server, { tools, serverInfo, addresses });
    async function faults() {
      const tools = [...catalogue.tools.values()];
      if (!tools.some(({ approval }) => approval)) return [];
      const { approvalFaults } = await import("./approval_settings.ts");
      return approvalFaults(server.config, tools);
    }
    return {
      async records() {
        const { approvalRecords } = await import("./approval_records.ts");
        return approvalRecords(server.database);
      },
      async warn(log) {
        for (const [why, names] of await faults()) log.warning(why, names);
      },
      async faults() {
        const all = (await faults()).map(([why]) => why);
        return all.length > 0 ? { approvals: all } : {};
      },
    };
  },
  catalogue: addition,
  async approve(core) {
    const { approvalGate } = await import("./approval_gate.ts");
    return approvalGate(core);
  },
};
