/**
 * The check of calls that wait for approval.
 *
 * @module
 */
import type { Check } from "./check.ts";
import { Fault } from "./finding.ts";
import { readReady } from "./ready.ts";

/** Checks that people can approve the calls that wait for their approval. */
export const APPROVALS_CHECK: Check = {
  name: "Approvals (everyone)",
  async run(site) {
    const { approvals } = await readReady(site, "if calls wait for approval");
    if (!Array.isArray(approvals)) {
      return "no call waits for approval, or people can approve it";
    }
    // Each text is a fault, and then what to do.
    const texts = approvals.map((it) => /^(.+?)\. (.+)$/s.exec(`${it}`));
    throw new Fault(
      approvals.map((it, index) => texts[index]?.[1] ?? it).join(". "),
      texts.map((it) => it?.[2] ?? "See the warnings at its start")
        .join(". "),
    );
  },
};
