/**
 * A limit on the calls of a tool.
 *
 * @module
 */

/**
 * A limit on the calls of a tool by one caller, or with `shared` by all callers
 * together. A model that asks for more is told when to try again.
 */
export interface ToolLimit {
  /** Calls per minute; the whole minute's calls may come at once. */
  callsPerMinute?: number;
  /**
   * Calls that run at the same time in one process; for a long task, its work
   * counts.
   */
  callsAtOnce?: number;
  /**
   * True if all callers share the limit, because the tool depends on something
   * that they share.
   */
  shared?: boolean;
}

/** Finds the fault of a limit; undefined: there is none. */
export function limitComplaint(
  { callsPerMinute = 1, callsAtOnce = 1 }: ToolLimit,
): string | undefined {
  return [callsPerMinute, callsAtOnce].every((count) =>
      Number.isSafeInteger(count) && count > 0
    )
    ? undefined
    : "limit must have whole numbers above 0";
}
