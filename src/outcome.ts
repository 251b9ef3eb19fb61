/**
 * How a request ended: for the log, for those who collect telemetry, and for
 * the person in whose name it was sent.
 *
 * @module
 */

/** How a request ended. */
export type Outcome =
  | "ok"
  /** The tool said that it failed, or its arguments were wrong. */
  | "tool_error"
  | "internal_error"
  /** It was not to be, or not now; nothing of ours is broken. */
  | "refused"
  /** The client wanted no answer any more. */
  | "cancelled"
  /** The server, or what allowed the request, ended meanwhile. */
  | "stopped"
  /** Answered with a question; the client sends the request again. */
  | "input_required";

/** Whether someone may have to look into it. */
export function isFailure(outcome: Outcome): boolean {
  return outcome === "tool_error" || outcome === "internal_error" ||
    outcome === "refused" || outcome === "stopped";
}
