/** @jsxImportSource @hono/hono/jsx */
/**
 * The receipts of approvals, below the list of latest calls and with the same
 * filter.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { Outcome } from "../../core/log/log.ts";
import {
  ClientName,
  displayName,
  PersonName,
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
import { approvalReference } from "../questions/wait_receipt.ts";
import { outcomeOfReceipt, type Receipt, receiptsOf } from "./receipts.ts";

const OUTCOMES: Readonly<Partial<Record<Outcome, Child>>> = {
  ok: <span class="badge good">Done</span>,
  tool_error: <span class="badge bad">Failed</span>,
  internal_error: <span class="badge bad">Failed in the server</span>,
  refused: <span class="badge">Refused</span>,
  cancelled: <span class="badge">Not used</span>,
  stopped: <span class="badge warn">End not known</span>,
  input_required: <span class="badge">Asked back</span>,
};

/** The ends that share the outcome of others in the filter. */
const ENDS: Readonly<Record<string, Child>> = {
  cancelled: <span class="badge">Cancelled</span>,
  cut: <span class="badge warn">Cut off</span>,
};

function badgeOf(receipt: Receipt): Child {
  const { isRefused, outcome = "", lateEnd } = receipt;
  const badge = isRefused && outcome === "withdrawn"
    ? <span class="badge">Withdrawn</span>
    : ENDS[outcome] ?? OUTCOMES[outcomeOfReceipt(receipt)];
  const more = lateEnd
    ? (
      <>
        It went on, and ended all the same:{" "}
        {badgeOf({ ...receipt, outcome: lateEnd, lateEnd: undefined })}
      </>
    )
    : outcome === "cancelled" &&
      "In the middle: some or all of it may have been done";
  return more
    ? (
      <>
        {badge}
        <div class="small">{more}</div>
      </>
    )
    : badge;
}

/**
 * Makes the section with the calls that a person asked for or decided on; for
 * an operator, with everyone's.
 */
export async function receiptsSection(
  { session: { subject }, isOperator, form, now }: AccountPageVisit,
  { before, ...filter }: CallFilter,
  { server, titleOf }: AccountPageServices,
): Promise<Child> {
  const { person, client, outcome } = filter;
  const { receipts, next, hasAny } = await receiptsOf(server).list(
    isOperator ? undefined : subject,
    (it) =>
      holds(`${it.caller}\n${it.approver ?? ""}`, person) &&
      holds(it.clientName ?? "", client) &&
      (outcome === undefined || outcomeOfReceipt(it) === outcome),
    before,
  );
  if (!hasAny && !before) return null;
  return (
    <Table
      title="Approvals"
      empty="No approval is like this. Shorten the names, or choose any outcome."
      columns={["Outcome", "When", "What", "Decided by"]}
      rows={receipts.map((receipt) => [
        badgeOf(receipt),
        <PastTime at={receipt.at} now={now} />,
        <What
          {...receipt}
          toolTitle={titleOf(receipt.tool)}
          isForOperators={isOperator}
          isOfOther={isOperator || receipt.subject !== subject}
        />,
        <DecidedBy
          {...receipt}
          isOwn={receipt.by === subject}
          isForOperators={isOperator}
        />,
      ])}
    >
      {next !== undefined && (
        <p class="small soft">
          There may be more:{" "}
          <a href={`${form.base}/account/calls?${queryOf(filter, next)}`}>
            older ones
          </a>.
        </p>
      )}
    </Table>
  );
}

/** Makes the query of the next page. */
function queryOf(filter: CallFilter, before: string): URLSearchParams {
  const given = Object.entries({ ...filter, before }).filter(([, it]) => it);
  return new URLSearchParams(given as [string, string][]);
}

function holds(name: string, part = ""): boolean {
  return name.toLowerCase().includes(part.trim().toLowerCase());
}

function What(
  { id, title, facts, tool, toolTitle, reference, isForOperators, ...of }:
    & Receipt
    & { toolTitle?: string; isForOperators: boolean; isOfOther: boolean },
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
        {isForOperators &&
          [approvalReference(id), reference].filter(Boolean).map((it) => (
            <>
              {" · "}
              <code>{it}</code>
            </>
          ))}
      </div>
      {of.reason && (
        <div class="small">
          <bdi>{shownMessage(of.reason)}</bdi>
        </div>
      )}
      <div class="small">
        <ClientName name={of.clientName ?? ""} />
        {of.isOfOther && (
          <>
            {" "}for{" "}
            <PersonName
              name={of.caller}
              account={isForOperators ? of.subject : undefined}
            />
          </>
        )}
      </div>
    </>
  );
}

function DecidedBy(
  { by, approver, passkey, remembered, isOwn, isForOperators }:
    & Receipt
    & { isOwn: boolean; isForOperators: boolean },
) {
  return (
    <>
      {isOwn
        ? "You"
        : by === undefined
        ? "Someone who has erased their data"
        : (
          <PersonName
            name={approver ?? by}
            account={isForOperators ? by : undefined}
          />
        )}
      {passkey && (
        <>
          , with the passkey <bdi>{displayName(passkey)}</bdi>
        </>
      )}
      {remembered && (
        <>
          , by an earlier approval: <bdi>{harmlessLine(remembered)}</bdi>
        </>
      )}
    </>
  );
}
