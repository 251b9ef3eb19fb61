/**
 * The list of a connection's latest calls, arranged so that a busy client does
 * not push out the failures.
 *
 * @module
 */
import { isFailure, type Outcome } from "../../core/log/request.ts";

/** Calls of one tool within an hour with the same outcome; no arguments. */
export interface NotedCall {
  /** The time at which the latest of these calls began, in epoch seconds. */
  at: number;
  /** The time at which the first of these calls began. */
  firstAt: number;
  tool: string;
  outcome: Outcome;
  count: number;
}

export type EndedCall = Pick<NotedCall, "at" | "tool" | "outcome">;

const LATEST = 40;
const OLDER_FAILURES = 10;

/** The maximum number of entries of a connection. */
export const CALLS = LATEST + OLDER_FAILURES;

/** The time within which equal calls of a tool are counted together. */
const TOGETHER_SECONDS = 60 * 60;

/**
 * Adds a call to the waiting calls, which are oldest first. For most calls this
 * costs one or two comparisons.
 */
export function addCall(
  waiting: NotedCall[],
  { at, tool, outcome }: EndedCall,
): void {
  const call: NotedCall = { at, firstAt: at, tool, outcome, count: 1 };
  if (mergeIntoEntry(waiting, call)) return;
  waiting.push(call);
  if (waiting.length < 2 * CALLS) return;
  waiting.splice(0, Infinity, ...listCalls(waiting, 0).reverse());
}

/**
 * Lists the calls to keep, newest first: the latest ones, and the latest
 * failures among the older ones.
 *
 * @param oldest calls that began before this are left out, in epoch seconds
 */
export function listCalls(
  calls: readonly NotedCall[],
  oldest: number,
): NotedCall[] {
  const list: NotedCall[] = [];
  for (const call of calls.toSorted((one, other) => other.at - one.at)) {
    if (call.at < oldest) break;
    if (!mergeIntoEntry(list, call)) list.push(call);
  }
  const failures = list.slice(LATEST).filter(({ outcome }) =>
    isFailure(outcome)
  );
  return [...list.slice(0, LATEST), ...failures.slice(0, OLDER_FAILURES)];
}

/** Sorts failures first, each group newest first. */
export function failuresFirst<C extends Pick<NotedCall, "at" | "outcome">>(
  calls: readonly C[],
): C[] {
  const rank = ({ outcome }: C) => isFailure(outcome) ? 0 : 1;
  return calls.toSorted((one, other) =>
    rank(one) - rank(other) || other.at - one.at
  );
}

/**
 * Counts a call in the entry of the same tool, outcome and hour. Returns false
 * if there is no such entry.
 */
function mergeIntoEntry(list: NotedCall[], call: NotedCall): boolean {
  const index = list.findLastIndex((other) => isSameEntry(other, call));
  if (index === -1) return false;
  const { at, firstAt, count } = list[index];
  list[index] = {
    ...call,
    at: Math.max(at, call.at),
    firstAt: Math.min(firstAt, call.firstAt),
    count: count + call.count,
  };
  return true;
}

function isSameEntry(one: NotedCall, other: NotedCall): boolean {
  return one.tool === other.tool && one.outcome === other.outcome &&
    Math.max(one.at, other.at) - Math.min(one.firstAt, other.firstAt) <
      TOGETHER_SECONDS;
}
