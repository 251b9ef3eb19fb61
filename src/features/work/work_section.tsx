/** @jsxImportSource @hono/hono/jsx */
/**
 * The tasks of a person, and the state of each.
 *
 * @module
 */
import { TASK_SECONDS } from "./task_record.ts";
import {
  ClientName,
  type ToolInWords,
  ToolOfWork,
} from "../../core/pages/names.tsx";
import type { FormPage } from "../../core/pages/layout.tsx";
import { Table } from "../../core/pages/table.tsx";
import {
  FutureTime,
  PastTime,
  printDuration,
} from "../../core/pages/times.tsx";

export interface WorkStateInWords {
  state: keyof typeof WORDS;
  /** The end of the task's sleep in epoch seconds. */
  until?: number;
}

const WORDS = {
  running: ["Running", ""],
  waiting: ["Waiting for you", "warn"],
  approving: ["Waiting for someone else", ""],
  asking: ["Waiting for its app", ""],
  held: ["Waiting", ""],
  sleeping: ["Sleeping", ""],
  done: ["Done", "good"],
  failed: ["Failed", "bad"],
  refused: ["Refused", ""],
  cancelled: ["Cancelled", ""],
} as const;

/** The state of a task as a badge, and the end of its sleep. */
export function WorkStateBadge(
  { state, until, now }: WorkStateInWords & { now: number },
) {
  const [words, tone] = WORDS[state];
  return (
    <>
      <span class={`badge ${tone}`}>{words}</span>
      {until !== undefined && (
        <>
          {" until "}
          <FutureTime at={until} now={now} />
        </>
      )}
    </>
  );
}

/** A task in a list. Times are epoch seconds. */
export interface WorkInWords extends WorkStateInWords, Partial<ToolInWords> {
  taskId: string;
  /** The client's name. Absent if the person has disconnected the client. */
  client?: string;
  createdAt: number;
}

/** The name of the client that asked, or a phrase if it was disconnected. */
export function AskedBy({ client }: Pick<WorkInWords, "client">) {
  return client === undefined
    ? <>a connection that is gone</>
    : <ClientName name={client} />;
}

export function WorkSection(
  { base = "", work, count, now }: Pick<FormPage, "base"> & {
    /** Unfinished durable work, then the newest tasks. */
    work: readonly WorkInWords[];
    count: number;
    now: number;
  },
) {
  return (
    <Table
      label="Your work"
      empty={`No app has begun work that goes on without it. Results stay here for ${
        printDuration(TASK_SECONDS)
      }, or as long as their tool says.`}
      isCompact
      columns={["State", "Begun", "Tool", "Asked by"]}
      rows={work.map((
        { taskId, tool, toolTitle, client, createdAt, ...state },
      ) => [
        <WorkStateBadge {...state} now={now} />,
        <PastTime at={createdAt} now={now} />,
        <a href={`${base}/account/work?task=${encodeURIComponent(taskId)}`}>
          <ToolOfWork tool={tool} toolTitle={toolTitle} />
        </a>,
        <AskedBy client={client} />,
      ])}
    >
      {count > work.length && (
        <p class="small soft">
          The first {work.length} of{" "}
          {count}: work in steps that goes on, then the newest.
        </p>
      )}
    </Table>
  );
}
