/**
 * The receipt of an approval of durable work, when the work ends.
 *
 * @module
 */
import type {
  Database,
  Entry,
  Expiring,
  Found,
  Write,
} from "../../core/kv/database.ts";
import { receiptKey, taskKey } from "../../core/kv/keys.ts";
import { expireWait } from "./wait_answer.ts";
import {
  type ApprovalState,
  isOpenRun,
  type RunEnd,
  type Wait,
  type WaitRecord,
} from "./wait_record.ts";

/**
 * A number larger than any epoch second. A receipt's ID begins with this number
 * minus the time, so that lists begin with the newest receipt.
 */
const LAST_SECOND = 99_999_999_999;

/**
 * Makes the ID of a receipt from its time and a text that no other receipt has.
 */
export function receiptIdOf(at: number, unique: string): string {
  return `${LAST_SECOND - at}-${unique}`;
}

/**
 * Returns the ID of an approval's receipt. A refusal has its own receipt, which
 * is kept if the call is approved after all.
 */
export function receiptOf(
  { key, createdAt }: Pick<Wait, "key" | "createdAt">,
  isRefused = false,
): string {
  const unique = String(key[1]);
  return receiptIdOf(createdAt, isRefused ? `${unique}-refused` : unique);
}

/**
 * Returns the name of an approval in the log and for operators, from the ID of
 * its receipt. It is the same for a refusal, and opens no page.
 */
export function approvalReference(receipt: string): string {
  return receipt.slice(receipt.indexOf("-") + 1).slice(0, 16);
}

/** The progress of an approved run. Times are epoch seconds. */
export type Progress =
  & Pick<ApprovalState, "begunAt" | "endedAt" | "outcome">
  & {
    /** The request ID of the run in the log. */
    reference?: string;
    /**
     * The end of a run that went on after its durable work was cancelled or cut
     * off.
     */
    lateEnd?: RunEnd;
  };

/**
 * Records the progress of a run in its receipt, unless the receipt was deleted.
 */
export function progressReceipt(
  database: Database,
  id: string,
  progress: Progress,
): Promise<void> {
  return database.change(
    receiptKey(id),
    (transaction, { key, value }: Entry<Expiring>) => {
      if (value) transaction.set(key, { ...value, ...progress });
    },
  );
}

interface EndedTask extends Expiring {
  status: "completed" | "failed" | "cancelled";
  isCut?: true;
}

/** Returns the outcome of a task that its run does not decide. */
function forcedEnd({ status, isCut }: EndedTask) {
  if (isCut) return "cut";
  return status === "cancelled" ? status : undefined;
}

/**
 * Records that a run has ended although its durable work was cancelled or cut
 * off before. Returns false if the work has not ended so, or if the receipt
 * has the end of a run: then another process may have done the work.
 */
export async function noteLateEnd(
  database: Database,
  id: string,
  taskId: string,
  lateEnd: RunEnd,
): Promise<boolean> {
  const task = await database.find<EndedTask>(taskKey(taskId));
  const outcome = task && forcedEnd(task.value);
  if (!outcome) return false;
  return await database.change(
    receiptKey(id),
    (transaction, { key, value }: Entry<Expiring & Progress>) => {
      const { lateEnd: told, outcome: known = outcome } = value ?? {};
      if (told || known !== outcome) return false;
      const end = { endedAt: database.now(), outcome, lateEnd };
      if (value) transaction.set(key, { ...value, ...end });
      return true;
    },
  );
}

/**
 * Ends a wait of durable work that has ended. The receipt records the end even
 * if no run was in progress, as during a sleep.
 */
export async function endWait(
  database: Database,
  read: Found<WaitRecord>,
): Promise<void> {
  const writing = (wait: Found<WaitRecord>) => receiptEnd(database, wait);
  await expireWait(database, read.key, { read, writing });
}

/** Makes the write of the work's end into the receipt of a run that has begun. */
async function receiptEnd(
  database: Database,
  { key, value }: Found<WaitRecord>,
): Promise<Write> {
  const { createdAt, taskId } = value;
  const task = isOpenRun(value) &&
    await database.find<EndedTask>(taskKey(taskId!));
  const receipt = task && task.value.status !== "completed" &&
    await database.find<Expiring>(receiptKey(receiptOf({ key, createdAt })));
  if (!receipt) return () => {};
  const outcome = forcedEnd(task.value) ?? "failed";
  const ended = { ...receipt.value, endedAt: database.now(), outcome };
  return (transaction) => transaction.check(receipt).set(receipt.key, ended);
}
