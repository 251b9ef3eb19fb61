/**
 * How much of a tool there is.
 *
 * @module
 */

/**
 * How much of a tool one caller may have, or with `shared` all callers
 * together. A model that asks for more is told when to try again.
 */
export interface ToolLimit {
  /** Calls a minute; as many may come at once. */
  callsPerMinute?: number;
  /** Calls under way at a time in one process; of a long task, its work. */
  callsAtOnce?: number;
  /** Whether all callers share it: for what the tool depends on. */
  shared?: boolean;
}

/** What is wrong with a limit; undefined: nothing. */
export function limitComplaint(
  { callsPerMinute = 1, callsAtOnce = 1 }: ToolLimit,
): string | undefined {
  return [callsPerMinute, callsAtOnce].every((count) =>
      Number.isSafeInteger(count) && count > 0
    )
    ? undefined
    : "limit must have whole numbers above 0";
}
