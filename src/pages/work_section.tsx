/** @jsxImportSource @hono/hono/jsx */
/**
 * The tasks of a person.
 *
 * @module
 */
import { visible } from "../log/log_line.ts";
import { displayName } from "./display_name.ts";
import { Moment } from "./moment.tsx";
import { Table } from "./table.tsx";
import { WorkStateBadge, type WorkStateInWords } from "./work_state.tsx";

/** A task in a list. Times are epoch seconds. */
export interface WorkInWords extends WorkStateInWords {
  taskId: string;
  /** Absent in a task from before it was kept. */
  tool?: string;
  /** Absent when its connection is gone. */
  client?: string;
  createdAt: number;
}

/** The name of a tool, and words where none is known. */
export function ToolName({ tool }: Pick<WorkInWords, "tool">) {
  return tool === undefined ? <>A tool</> : <code>{visible(tool)}</code>;
}

/** The name of a client, and words where none is known. */
export function ClientName({ client }: Pick<WorkInWords, "client">) {
  return client === undefined ? <>a connection that is gone</> : (
    <>
      “<bdi>{displayName(client)}</bdi>”
    </>
  );
}

/** A person's tasks. */
export function WorkSection(
  { base = "", work, count, now }: {
    /** Path of the public address; empty at a root. */
    base?: string;
    /** Durable work that goes on first, then the newest. */
    work: readonly WorkInWords[];
    /** The number of all of them. */
    count: number;
    now: number;
  },
) {
  return (
    <Table
      label="Your work"
      empty="No app has begun work that goes on without it. Results stay here for a day, or as long as their tool says."
      isCompact
      columns={["State", "Begun", "Tool", "Asked by"]}
      rows={work.map(({ taskId, tool, client, createdAt, ...state }) => [
        <WorkStateBadge {...state} now={now} />,
        <Moment at={createdAt} now={now} />,
        <a href={`${base}/account/work?task=${encodeURIComponent(taskId)}`}>
          <ToolName tool={tool} />
        </a>,
        <ClientName client={client} />,
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
