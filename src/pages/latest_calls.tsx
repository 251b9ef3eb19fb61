/** @jsxImportSource @hono/hono/jsx */
/**
 * The latest tool calls of a connection.
 *
 * @module
 */
import { isFailure, type Outcome } from "../log/outcome.ts";
import { Moment } from "./moment.tsx";

/** Calls of one tool within an hour that ended the same way. */
export interface CallInWords {
  /** The time of the last of them, in epoch seconds. */
  at: number;
  tool: string;
  outcome: Outcome;
  count: number;
}

const WORDS: Readonly<Record<Outcome, readonly [words: string, tone: string]>> =
  {
    ok: ["Went well", "good"],
    tool_error: ["Failed", "bad"],
    internal_error: ["Failed in the server", "bad"],
    refused: ["Refused", "warn"],
    cancelled: ["Cancelled", ""],
    stopped: ["Cut off", "warn"],
    input_required: ["Asked back", ""],
  };

/** The outcome of a call as a badge. */
export function OutcomeBadge({ outcome }: { outcome: Outcome }) {
  const [words, tone] = WORDS[outcome];
  return <span class={`badge ${tone}`}>{words}</span>;
}

/** The calls of one connection, closed at first. */
export function LatestCalls(
  { calls, now, of }: {
    /** Newest first; undefined where none are kept. */
    calls?: readonly CallInWords[];
    now: number;
    /** The connection's name, for people who hear the line without its row. */
    of: string;
  },
) {
  if (!calls) return null;
  if (calls.length === 0) {
    return <p class="small soft">No tool was called lately.</p>;
  }
  const failed = calls.filter(({ outcome }) => isFailure(outcome))
    .reduce((sum, { count }) => sum + count, 0);
  return (
    <details class="small">
      <summary>
        Latest calls<span class="visually-hidden">{` of ${of}`}</span>
        {failed > 0 && (
          <>
            {" "}
            <span class="badge bad">{failed} not done</span>
          </>
        )}
      </summary>
      <ul class="calls">
        {calls.map(({ at, tool, outcome, count }) => (
          <li>
            <span>
              <code>{tool}</code>
              {count > 1 && ` ${count} times`}
            </span>
            <OutcomeBadge outcome={outcome} />
            <Moment at={at} now={now} />
          </li>
        ))}
      </ul>
    </details>
  );
}
