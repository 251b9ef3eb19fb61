/**
 * Durable work under a remembered approval. The work's approval is answered
 * once in the person's name, so that the work has one receipt, however many
 * runs it has.
 *
 * @module
 */
import type { Write } from "../../core/kv/database.ts";
import type { WaitStore } from "../questions/waits.ts";
import type { CallApproval } from "./call_approval.ts";
import type { RememberedApproval } from "./remembered.ts";

/**
 * Answers the approval of durable work. Undefined if no remembered approval
 * allows the work.
 *
 * @param with `find` finds the remembered approval; `opened` creates or finds
 *   the approval of the work, and throws if the work has ended; `receipt` makes
 *   the write of the receipt
 */
export async function answerRemembered(
  { accept, read }: Pick<WaitStore, "accept" | "read">,
  { find, opened, receipt }: {
    find(): Promise<
      { remembered: RememberedApproval; write: Write } | undefined
    >;
    opened(): Promise<CallApproval>;
    receipt(approval: CallApproval, entry: RememberedApproval): Promise<Write>;
  },
): Promise<CallApproval | undefined> {
  for (;;) {
    const found = await find();
    if (!found) return undefined;
    const approval = await opened();
    const { id, subject: by } = approval;
    const { remembered, write } = found;
    const writeReceipt = await receipt(approval, remembered);
    const answer = {
      action: "accept",
      by,
      at: remembered.at,
      remembered: true,
    };
    const accepted = await accept(
      id!,
      ({ kind }) => kind === "approval",
      answer,
      (transaction) => {
        write(transaction);
        writeReceipt(transaction);
      },
    );
    // If the answer was not accepted, another run may have just used the same
    // remembered approval. Then this one tries again.
    const now = await read(approval);
    if (accepted || !now) return now as unknown as CallApproval | undefined;
  }
}
