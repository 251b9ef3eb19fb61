/**
 * The check of calls that wait for approval.
 *
 * @module
 */
import { parseObject } from "./answer.ts";
import type { Check } from "./check.ts";
import { Fault, Skipped } from "./finding.ts";

/** Checks that people can approve the calls that wait for their approval. */
export const APPROVALS_CHECK: Check = {
  name: "Approvals (everyone)",
  async run(site) {
    const { status, text } = await site.send(`${site.base}/ready`);
    if (status !== 200 || !text.startsWith("{")) {
      throw new Skipped("the server does not tell if calls wait for approval");
    }
    const { approvals } = parseObject("/ready", text, "Answer with JSON.");
    if (!Array.isArray(approvals)) {
      return "no call waits for approval, or people can approve it";
    }
    throw new Fault(
      approvals.join(". "),
      "docs/approvals.md says what approvals need.",
    );
  },
};
