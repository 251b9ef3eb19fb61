/**
 * The steps of approvals in the log and in telemetry, without titles,
 * arguments, reasons and names of people.
 *
 * @module
 */
import type { Logger } from "../../core/log/log.ts";
import type { Work } from "../../core/mcp/exchange/work.ts";
import { shortClientId } from "../../core/oauth/client.ts";
import { telemetry } from "../../core/telemetry/current.ts";
import type { ApprovalState } from "../questions/wait_record.ts";
import { approvalReference } from "../questions/wait_receipt.ts";

/** The log message of each step. */
const EVENTS = {
  asked: "A call waits for an approval",
  approved: "A call was approved",
  refused: "A call was refused",
  withdrawn: "A client has withdrawn an approval",
  expired: "No one approved a call in time",
  looked: "An approved run without a known end was looked at",
  begun: "A run has begun with an approval",
  ended: "A run with an approval has ended",
} as const;

export type ApprovalStep = keyof typeof EVENTS;

/**
 * @param of `seconds`: the time since an earlier step; for `expired`, the time
 * for which the approval was open
 */
export type ReportStep = (
  step: ApprovalStep,
  of: { tool: string; seconds?: number; outcome?: ApprovalState["outcome"] },
  who: {
    reference: string;
    approval: string;
    subject: string;
    [name: string]: unknown;
  },
) => void;

export function stepReport(log: Logger): ReportStep {
  return (step, { tool, seconds = 0, outcome }, who) => {
    const isAudited = step !== "asked" && step !== "expired";
    const level = isAudited ? "audit" : "info";
    log[level](EVENTS[step], { ...who, tool, outcome });
    const error = outcome === "ok" ? undefined : outcome;
    telemetry?.reportApproval({ step, tool, seconds, error });
  };
}

/** Returns the run, the approval and the caller for log entries. */
export function runAndCaller(
  { requestId, caller: { subject, clientId } }: Work,
  receipt: string,
) {
  return {
    reference: requestId,
    approval: approvalReference(receipt),
    subject,
    clientId: clientId && shortClientId(clientId),
  };
}
