/** @jsxImportSource @hono/hono/jsx */
/**
 * The receipts of approvals, shown below the latest calls, with the same
 * filter.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { Outcome } from "../../core/log/request.ts";
import {
  ClientName,
  displayName,
  shownMessage,
  ToolTitle,
} from "../../core/pages/names.tsx";
import { Table } from "../../core/pages/table.tsx";
import { PastTime } from "../../core/pages/times.tsx";
import type {
  AccountPageServices,
  AccountPageVisit,
  CallFilter,
} from "../account_page/account_pages.ts";
import { harmlessLine } from "./approval_page.tsx";
import { outcomeOfReceipt, type Receipt, receiptsOf } from "./receipts.ts";

/** The badge of each outcome that a receipt can have. */
const OUTCOMES: Readonly<Partial<Record<Outcome, Child>>> = {
  ok: <span class="badge good">Done</span>,
  tool_error: <span class="badge bad">Failed</span>,
  internal_error: <span class="badge bad">Failed in the server</span>,
  refused: <span class="badge">Refused</span>,
  cancelled: <span class="badge">Not begun</span>,
  stopped: <span class="badge warn">End not known</span>,
};

/**
 * Makes the section of a visitor: the calls that they asked for or decided on;
 * for an operator, everyone's.
 */
export async function receiptsSection(
  { session: { subject }, isOperator, now }: AccountPageVisit,
  { person, client, outcome }: CallFilter,
  { server, titleOf }: AccountPageServices,
): Promise<Child> {
  const { receipts, mayBeMore, hasAny } = await receiptsOf(server).list(
    isOperator ? undefined : subject,
    (it) =>
      holds(`${it.caller}\n${it.approver ?? ""}`, person) &&
      holds(it.clientName ?? "", client) &&
      (outcome === undefined || outcomeOfReceipt(it) === outcome),
  );
  if (!hasAny) return null;
  return (
    <Table
      title="Approvals"
      empty="No approval is like this. Shorten the names, or choose any outcome."
      columns={["Outcome", "When", "What", "Client", "Decided by"]}
      rows={receipts.map((receipt) => [
        receipt.outcome === "cancelled"
          ? <span class="badge">Cancelled</span>
          : OUTCOMES[outcomeOfReceipt(receipt)],
        <PastTime at={receipt.at} now={now} />,
        <What
          {...receipt}
          toolTitle={titleOf(receipt.tool)}
          isForOperators={isOperator}
        />,
        <>
          <ClientName name={receipt.clientName ?? ""} />
          {(isOperator || receipt.subject !== subject) && (
            <>
              {" "}for <bdi>{displayName(receipt.caller)}</bdi>
            </>
          )}
        </>,
        <DecidedBy {...receipt} isOwn={receipt.by === subject} />,
      ])}
    >
      {mayBeMore && (
        <p class="small soft">
          There may be more, and older ones.
        </p>
      )}
    </Table>
  );
}

function holds(name: string, part = ""): boolean {
  return name.toLowerCase().includes(part.trim().toLowerCase());
}

function What(
  { title, facts, tool, toolTitle, reference, reason, isForOperators }:
    & Receipt
    & { toolTitle?: string; isForOperators: boolean },
) {
  return (
    <>
      <bdi>{harmlessLine(title)}</bdi>
      <div class="small soft">
        <ToolTitle tool={tool} toolTitle={toolTitle} hasName />
        {Object.entries(facts).map(([name, fact]) => (
          <>
            {" · "}
            <bdi>{harmlessLine(`${name}: ${fact}`)}</bdi>
          </>
        ))}
        {isForOperators && reference && (
          <>
            {" · "}
            <code>{reference}</code>
          </>
        )}
      </div>
      {reason && (
        <div class="small">
          <bdi>{shownMessage(reason)}</bdi>
        </div>
      )}
    </>
  );
}

function DecidedBy(
  { by, approver, passkey, remembered, isOwn }: Receipt & { isOwn: boolean },
) {
  return (
    <>
      {isOwn
        ? "You"
        : by === undefined
        ? "Someone who has erased their data"
        : <bdi>{displayName(approver ?? by)}</bdi>}
      {passkey && (
        <>
          , with the passkey <bdi>{displayName(passkey)}</bdi>
        </>
      )}
      {remembered && (
        <>
          , before, for: <bdi>{harmlessLine(remembered)}</bdi>
        </>
      )}
    </>
  );
}
