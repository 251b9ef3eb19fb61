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

/** @throws {Error} unless its counts can be reached */
export function checkLimit(
  { callsPerMinute = 1, callsAtOnce = 1 }: ToolLimit,
): void {
  const isCount = (count: number) => Number.isSafeInteger(count) && count > 0;
  if ([callsPerMinute, callsAtOnce].every(isCount)) return;
  throw new Error("limit must have whole numbers above 0");
}
