/**
 * Approvals: tools whose run waits for a person on a page of the server.
 *
 * @module
 */
import type { CatalogueAddition } from "../../core/catalogue/compiled_definitions.ts";
import type { Feature } from "../../core/server/feature.ts";

/** The member of a tool's `_meta` that says if its calls wait for approval. */
const APPROVAL = "tool-server/approval";

function addition(): CatalogueAddition {
  return {
    addTool({ approval, prepare }) {
      if (!approval) return undefined;
      const waits = approval.when ? "sometimes" : "always";
      if (!prepare) return { [APPROVAL]: waits };
      throw new Error(
        "prepare acts before anyone has approved: move what it does to run, or leave approval out",
      );
    },
    resources: [],
    select: () => ({ listed: [] }),
  };
}

export const approvalsFeature: Feature = {
  name: "approvals",
  open: (server) => ({
    async records() {
      const { receiptsOf } = await import("./receipts.ts");
      return receiptsOf(server).records;
    },
  }),
  catalogue: addition,
  async approve(core) {
    const { approvalGate } = await import("./approval_gate.ts");
    return approvalGate(core);
  },
};
