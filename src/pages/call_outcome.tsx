/** @jsxImportSource @hono/hono/jsx */
/**
 * The outcome of a tool call, in words.
 *
 * @module
 */
import type { Outcome } from "../log/outcome.ts";

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
