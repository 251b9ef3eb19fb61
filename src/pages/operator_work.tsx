/** @jsxImportSource @hono/hono/jsx */
/**
 * The durable work of everyone, for operators: what is stuck, what is oldest,
 * and which steps fail most. Neither what people gave nor what they got.
 *
 * @module
 */
import { visible } from "../log/log_line.ts";
import { Moment, Upcoming } from "./moment.tsx";
import { Table } from "./table.tsx";

/** Durable work that goes on. Times are epoch seconds. */
export interface OperatorWorkItem {
  taskId: string;
  tool: string;
  createdAt: number;
  /** The time at which a process looks at it. */
  dueSeconds: number;
  /** True if no process works on it. */
  isParked: boolean;
  /** The processes that died in a row without having kept a step. */
  deaths: number;
  /** The time since which no process knows its tool. */
  missingSince?: number;
}

/** A step that has failed. Times are epoch seconds. */
export interface FailingStep {
  tool: string;
  step: string;
  count: number;
  since: number;
  at: number;
}

/** The contents of the page. */
export interface OperatorWorkProps {
  /** That which is most overdue first. */
  work: readonly OperatorWorkItem[];
  /** True if there is more than the page has read. */
  isCut: boolean;
  /** The most wakes that it reads. */
  wakes: number;
  /** The worst first. */
  failures: readonly FailingStep[];
  now: number;
}

/** Work that no one has looked at for so long after its time is stuck. */
const OVERDUE_SECONDS = 60;
/** The most rows of each table. */
const MOST_ROWS = 25;

/** Everyone’s durable work. */
export function OperatorWork(props: OperatorWorkProps) {
  const { work, isCut, wakes, failures, now } = props;
  const stuck = work.filter((one) => troubleOf(one, now) !== undefined);
  const oldest = work.toSorted((a, b) => a.createdAt - b.createdAt);
  const last = ["Begun", "Tool", "Reference"];
  return (
    <>
      <p class="small soft">
        Read: the next {wakes}{" "}
        wakes, so the times at which work is looked at, and the count of steps
        that failed. {work.length} {work.length === 1 ? "task" : "tasks"} found
        {isCut && "; there are more"}. Work that waits for an answer alone has
        no wake, and is not among them.
      </p>
      <Table
        title="Stuck"
        empty="Nothing is stuck."
        isCompact
        columns={["Why", ...last]}
        rows={stuck.slice(0, MOST_ROWS).map((one) => [
          <span class="badge bad">{troubleOf(one, now)}</span>,
          ...cellsOf(one, now),
        ])}
      />
      <Table
        title="Oldest"
        empty="No durable work has a time at which it goes on."
        isCompact
        columns={["State", ...last]}
        rows={oldest.slice(0, MOST_ROWS).map((one) => [
          one.isParked
            ? (
              <>
                Goes on <Upcoming at={one.dueSeconds} now={now} />
              </>
            )
            : <span class="badge">At work</span>,
          ...cellsOf(one, now),
        ])}
      />
      <Table
        title="Steps that fail most"
        empty="No step has failed in the last seven days."
        columns={["Tries that failed", "Tool", "Step", "First", "Last"]}
        rows={failures.slice(0, MOST_ROWS).map((one) => [
          String(one.count),
          <code>{visible(one.tool)}</code>,
          <bdi>{visible(one.step)}</bdi>,
          <Moment at={one.since} now={now} />,
          <Moment at={one.at} now={now} />,
        ])}
      />
    </>
  );
}

function cellsOf({ createdAt, tool, taskId }: OperatorWorkItem, now: number) {
  return [
    <Moment at={createdAt} now={now} />,
    <code>{visible(tool)}</code>,
    <code>{taskId}</code>,
  ];
}

/** Tells why work does not go on; undefined if it does. */
function troubleOf(
  { dueSeconds, deaths, missingSince }: OperatorWorkItem,
  now: number,
): string | undefined {
  if (missingSince !== undefined) return "No process knows its tool";
  if (deaths > 0) {
    return deaths === 1
      ? "Its process has died"
      : `${deaths} of its processes have died`;
  }
  if (now - dueSeconds > OVERDUE_SECONDS) return "Overdue";
}
