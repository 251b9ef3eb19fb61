/**
 * Withdraws an approval whose run has not begun, because the client has
 * declined or cancelled its question.
 *
 * @module
 */
import {
  type Database,
  type Entry,
  isFound,
  type Transaction,
} from "../../core/kv/database.ts";
import { USED_SECONDS } from "../questions/wait_answer.ts";
import { putWait, type WaitRecord } from "../questions/wait_record.ts";
import type { Wait, WaitStore } from "../questions/waits.ts";
import type { CallApproval } from "./call_approval.ts";
import { rememberedStore } from "./remembered.ts";

/**
 * Withdraws an approval, even an answered one, and with it the remembered
 * approval that the answer stored. The approval's page then says so. Returns
 * false if the call was refused or its run has begun.
 */
export function withdrawApproval(
  database: Database,
  { read, withdrawUnused }: Pick<WaitStore, "read" | "withdrawUnused">,
  { key }: Pick<Wait, "key">,
): Promise<boolean> {
  const withdrawing = async (
    transaction: Transaction,
    entry: Entry<WaitRecord>,
  ) => {
    if (!isFound(entry)) return true;
    const { value } = entry;
    // A request that failed with status 503 may have set this state without a
    // run.
    if (value.state === "used") return await withdrawUnused({ key });
    const { answer, payload } = (await read({ key }) ?? {}) as Partial<
      Pick<CallApproval, "answer" | "payload">
    >;
    if (answer?.action === "decline") return false;
    const { subject, approval } = value;
    if (answer?.remembers && payload?.offer) {
      rememberedStore(database).ending(subject, payload.offer)(transaction);
    }
    const endedAt = database.now();
    putWait(transaction, key, {
      ...value,
      state: "used",
      sealedAnswer: undefined,
      approval: { ...approval!, endedAt, outcome: "withdrawn" },
      expiresAt: Math.min(value.expiresAt, endedAt + USED_SECONDS),
    });
    return true;
  };
  return database.change(key, withdrawing);
}
