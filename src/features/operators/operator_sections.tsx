/** @jsxImportSource @hono/hono/jsx */
/**
 * The operators' sections of the account page: configured clients, attempts to
 * connect, and durable work without its inputs and results.
 *
 * @module
 */
import { clientName } from "../../core/oauth/client.ts";
import { machineSubject } from "../../core/oauth/subject.ts";
import { escaped } from "../../core/log/log_line.ts";
import {
  ATTEMPTS_SECONDS,
  type ConnectAttempt,
} from "../../core/store/attempts.ts";
import { CLIENT_USE_SECONDS } from "../../core/store/client_uses.ts";
import { STEP_FAILURES_SECONDS, type StepFailure } from "../work/steps.ts";
import type { WorkAhead } from "../work/run_record.ts";
import {
  ClientCell,
  ClientName,
  displayName,
  shownMessage,
  type ToolInWords,
  ToolTitle,
  type UsedClient,
} from "../../core/pages/names.tsx";
import { EndForm } from "../account_page/connection_forms.tsx";
import type { FormPage } from "../../core/pages/layout.tsx";
import { CodeLines, Table } from "../../core/pages/table.tsx";
import {
  FutureTime,
  PastTime,
  printDuration,
} from "../../core/pages/times.tsx";

/** A `client_credentials` client and its live access tokens. */
interface OperatorMachine extends UsedClient {
  tokens: number;
  /** True if there are more access tokens than were counted. */
  isMore: boolean;
}

/** The configured clients; `client_credentials` clients come first. */
export function OperatorClients(
  { machines, clients, now, ...form }: FormPage & {
    machines: readonly OperatorMachine[];
    clients: readonly UsedClient[];
    now: number;
  },
) {
  return (
    <>
      {machines.length > 0 && (
        <Table
          title="Machines"
          empty=""
          columns={["Client", "Access tokens", "The last one", ""]}
          rows={machines.map(({ client, tokens, isMore, usedAt }) => [
            <>
              <ClientName name={clientName(client)} />
              <br />
              <code>
                <bdi>{escaped(machineSubject(client.clientId))}</bdi>
              </code>
            </>,
            isMore ? `${tokens} or more` : tokens,
            usedAt === undefined
              ? "None is alive"
              : <PastTime at={usedAt} now={now} />,
            tokens > 0 && (
              <EndForm
                {...form}
                subject={machineSubject(client.clientId)}
                label="End all"
                of={`of ${displayName(clientName(client))}`}
              >
                All its access tokens end, with its sessions and tasks. It gets
                another when it asks.
              </EndForm>
            ),
          ])}
        />
      )}
      <Table
        title="All clients of OAUTH_CLIENTS"
        empty="None is set up in OAUTH_CLIENTS. Clients that registered themselves are with the people who use them."
        columns={["Client", "Gets tokens by", "Last used", "Redirect URIs"]}
        rows={clients.map(({ client, usedAt }) => [
          <ClientCell client={client} />,
          <CodeLines of={client.metadata.grant_types} />,
          usedAt === undefined
            ? `Not in ${printDuration(CLIENT_USE_SECONDS)}`
            : <PastTime at={usedAt} now={now} />,
          <CodeLines of={client.metadata.redirect_uris} />,
        ])}
      />
    </>
  );
}

/** The last attempts to connect, newest first. */
export function OperatorAttempts(
  { attempts, now }: { attempts: readonly ConnectAttempt[]; now: number },
) {
  return (
    <Table
      label="The last attempts to connect"
      empty={`No one has tried in the last ${
        printDuration(ATTEMPTS_SECONDS)
      }. Connect a client: the start page says how.`}
      columns={["When", "Step", "Client", "Outcome"]}
      rows={attempts.map(({ at, step, client, failure, count }) => [
        <PastTime at={at} now={now} />,
        <code>{step}</code>,
        <bdi>{client ? displayName(client) : "unknown"}</bdi>,
        failure
          ? (
            <>
              <span class="badge bad">Failed</span> {escaped(failure)}
              {count > 1 && ` (${count} times)`}
            </>
          )
          : <span class="badge good">Done</span>,
      ])}
    />
  );
}

/** The durable work of all people, up to a limit. */
interface OperatorWorkProps {
  /** The work that was read, most overdue first. */
  work: readonly (WorkAhead & ToolInWords)[];
  /** True if there is more work than was read. */
  hasMore: boolean;
  /** The maximum number of pieces of work that are read. */
  wakes: number;
  /** The failed steps, worst first. */
  failures: readonly (StepFailure & ToolInWords)[];
  now: number;
}

/** The seconds after its wake time from which work is shown as overdue. */
const OVERDUE_SECONDS = 60;
const MAX_ROWS = 25;

export function OperatorWork(props: OperatorWorkProps) {
  const { work, hasMore, wakes, failures, now } = props;
  const stuck = work.filter((one) => troubleOf(one, now) !== undefined);
  const oldest = work.toSorted((a, b) => a.createdAt - b.createdAt);
  const last = ["Begun", "Tool", "Reference"];
  return (
    <>
      <p class="small soft">
        This page looks at the next {wakes}{" "}
        times at which work is due, and at the steps that failed. {work.length}
        {" "}
        {work.length === 1 ? "task" : "tasks"} found
        {hasMore && "; there are more"}. Work that waits for an answer alone has
        no wake, and is not among them.
      </p>
      <Table
        title="Stuck"
        empty="Nothing is stuck."
        isCompact
        columns={["Why", ...last]}
        rows={stuck.slice(0, MAX_ROWS).map((one) => [
          <span class="badge bad">{troubleOf(one, now)}</span>,
          ...cellsOf(one, now),
        ])}
      />
      <Table
        title="Oldest"
        empty="No durable work has a time at which it goes on."
        isCompact
        columns={["State", ...last]}
        rows={oldest.slice(0, MAX_ROWS).map((one) => [
          one.isParked
            ? (
              <>
                Goes on <FutureTime at={one.dueSeconds} now={now} />
              </>
            )
            : <span class="badge">At work</span>,
          ...cellsOf(one, now),
        ])}
      />
      <Table
        title="Steps that fail most"
        empty={`No step has failed in the last ${
          printDuration(STEP_FAILURES_SECONDS)
        }.`}
        columns={["Tries that failed", "Tool", "Step", "First", "Last"]}
        rows={failures.slice(0, MAX_ROWS).map((one) => [
          String(one.count),
          <ToolTitle {...one} hasName />,
          <bdi>{shownMessage(one.step)}</bdi>,
          <PastTime at={one.since} now={now} />,
          <PastTime at={one.at} now={now} />,
        ])}
      />
    </>
  );
}

function cellsOf(work: WorkAhead & ToolInWords, now: number) {
  return [
    <PastTime at={work.createdAt} now={now} />,
    <ToolTitle {...work} hasName />,
    <code>{work.taskId}</code>,
  ];
}

/** Returns the reason why work is stuck. Undefined if it is not. */
function troubleOf(
  { dueSeconds, deaths, missingSince }: WorkAhead,
  now: number,
): string | undefined {
  if (missingSince !== undefined) {
    return "No process knows its tool, or this version of its steps";
  }
  if (deaths > 0) {
    return deaths === 1
      ? "Its process has died"
      : `${deaths} of its processes have died`;
  }
  if (now - dueSeconds > OVERDUE_SECONDS) return "Overdue";
}
