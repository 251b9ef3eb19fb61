/** @jsxImportSource @hono/hono/jsx */
/**
 * The state of a task, in words.
 *
 * @module
 */
import { Upcoming } from "./moment.tsx";

/** The states that a person tells apart. */
export type WorkState = keyof typeof WORDS;

/** The state of a task. */
export interface WorkStateInWords {
  state: WorkState;
  /** The end of its sleep, in epoch seconds. */
  until?: number;
}

const WORDS = {
  running: ["Running", ""],
  waiting: ["Waiting for you", "warn"],
  sleeping: ["Sleeping", ""],
  done: ["Done", "good"],
  failed: ["Failed", "bad"],
  cancelled: ["Cancelled", ""],
} as const;

/** The state of a task as a badge, and until when it sleeps. */
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
          <Upcoming at={until} now={now} />
        </>
      )}
    </>
  );
}
