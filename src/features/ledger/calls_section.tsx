/** @jsxImportSource @hono/hono/jsx */
/**
 * The latest tool calls of a person or, for operators, of all people: failures
 * first, and a filter.
 *
 * @module
 */
import type { Child } from "@hono/hono/jsx";
import type { Outcome } from "../../core/log/log.ts";
import type { LedgerEntry } from "./ledger.ts";
import {
  ClientName,
  displayName,
  type ToolInWords,
  ToolTitle,
} from "../../core/pages/names.tsx";
import type { FormPage } from "../../core/pages/layout.tsx";
import { Table } from "../../core/pages/table.tsx";
import type { CallFilter } from "../account_page/account_pages.ts";
import { PastTime } from "../../core/pages/times.tsx";

/** The calls of one tool within an hour with the same outcome. */
export interface CallInWords extends Omit<LedgerEntry, "firstAt">, ToolInWords {
  /** The person's name at the provider. */
  person: string;
  client: string;
}

interface CallsProps extends Pick<FormPage, "base"> {
  /** The calls that match the filter, failures first. */
  calls: readonly CallInWords[];
  filter: CallFilter;
  /** True if these are all people's calls. */
  isForOperators?: boolean;
  /** True if there are more people than were read. */
  hasMore?: boolean;
  below?: Child;
  now: number;
}

/** The maximum number of rows of a page. */
const MAX_ROWS = 100;

const OUTCOME_WORDS: Readonly<
  Record<Outcome, readonly [words: string, tone: string]>
> = {
  ok: ["Done", "good"],
  tool_error: ["Failed", "bad"],
  internal_error: ["Failed in the server", "bad"],
  refused: ["Refused", "warn"],
  cancelled: ["Cancelled", ""],
  stopped: ["Cut off", "warn"],
  input_required: ["Asked back", ""],
};

/** Parses an outcome. Undefined for any other text. */
export function parseOutcome(text = ""): Outcome | undefined {
  return OUTCOMES.find((outcome) => outcome === text);
}

const OUTCOMES = Object.keys(OUTCOME_WORDS) as Outcome[];

export function CallsSection(
  { base = "", calls, filter, isForOperators, hasMore, below, now }: CallsProps,
) {
  const { person, client, outcome } = filter;
  const isFiltered = Boolean(person || client || outcome);
  return (
    <>
      <Table
        label="Latest calls"
        empty={isFiltered
          ? "No call is like this. Shorten the names, or choose any outcome."
          : "No tool was called lately."}
        isCompact
        columns={[
          "Outcome",
          "When",
          "Tool",
          ...isForOperators ? ["Person"] : [],
          "Client",
        ]}
        rows={calls.slice(0, MAX_ROWS).map((call) => [
          <>
            <OutcomeBadge outcome={call.outcome} />
            {call.count > 1 && (
              <>
                {" "}
                <span class="unbroken">{call.count} times</span>
              </>
            )}
          </>,
          <PastTime at={call.at} now={now} />,
          <ToolTitle {...call} hasName={isForOperators} />,
          ...isForOperators ? [<bdi>{displayName(call.person)}</bdi>] : [],
          <ClientName name={call.client} />,
        ])}
      >
        <form class="filter" method="get" action={`${base}/account/calls`}>
          {Object.entries({ ...isForOperators && { person }, client }).map((
            [name, value],
          ) => (
            <label>
              {name === "person" ? "Person" : "Client"}
              <input
                type="text"
                name={name}
                value={value ?? ""}
                autocomplete="off"
              />
            </label>
          ))}
          <label>
            Outcome
            <select name="outcome">
              <option value="">Any</option>
              {OUTCOMES.map((value) => (
                <option value={value} selected={value === outcome}>
                  {OUTCOME_WORDS[value][0]}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">Show</button>
        </form>
        {hasMore && (
          <p class="small soft">
            Calls of machines and of the first people of the list, who are not
            all: search for a person.
          </p>
        )}
        {calls.length > MAX_ROWS && (
          <p class="small soft">
            The first {MAX_ROWS} of {calls.length}, failures first.
          </p>
        )}
      </Table>
      {below}
    </>
  );
}

function OutcomeBadge({ outcome }: { outcome: Outcome }) {
  const [words, tone] = OUTCOME_WORDS[outcome];
  return <span class={`badge ${tone}`}>{words}</span>;
}
