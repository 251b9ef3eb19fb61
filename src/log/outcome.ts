/**
 * The outcome of a request: for the log, for telemetry, and for the person in
 * whose name it was sent.
 *
 * @module
 */

export type Outcome =
  | "ok"
  /** The tool reported a failure, or its arguments were wrong. */
  | "tool_error"
  | "internal_error"
  /** The request was not allowed, or not now; nothing of ours is broken. */
  | "refused"
  /** The client no longer wanted an answer. */
  | "cancelled"
  /** The server stopped, or the permission for the request ended. */
  | "stopped"
  /** Answered with a question; the client sends the request again. */
  | "input_required";

/** True if someone may have to look into it. */
export function isFailure(outcome: Outcome): boolean {
  return outcome === "tool_error" || outcome === "internal_error" ||
    outcome === "refused" || outcome === "stopped";
}
