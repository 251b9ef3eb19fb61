/**
 * The latest calls of a connection, so listed that a busy client does not push
 * out what failed.
 *
 * @module
 */
import { isFailure, type Outcome } from "../outcome.ts";

/** Calls of one tool within an hour that ended alike. Never an argument. */
export interface NotedCall {
  /** When the last of them began, in epoch seconds. */
  at: number;
  /** When the first of them began. */
  firstAt: number;
  tool: string;
  outcome: Outcome;
  /** How many they are. */
  count: number;
}

/** What a call is noted by. */
export type EndedCall = Pick<NotedCall, "at" | "tool" | "outcome">;

const LATEST = 40;
const OLDER_FAILURES = 10;

/** How many entries are kept of a connection. */
export const CALLS = LATEST + OLDER_FAILURES;

/** Calls that are further apart stay apart: when it was is worth knowing. */
const TOGETHER_SECONDS = 60 * 60;

/**
 * Adds a call to those that wait to be written, oldest first: for most calls
 * a comparison or two.
 */
export function addCall(
  waiting: NotedCall[],
  { at, tool, outcome }: EndedCall,
): void {
  const call: NotedCall = { at, firstAt: at, tool, outcome, count: 1 };
  if (addToAlike(waiting, call)) return;
  waiting.push(call);
  if (waiting.length < 2 * CALLS) return;
  waiting.splice(0, Infinity, ...listCalls(waiting, 0).reverse());
}

/**
 * The calls that are kept, newest first: the latest, and of the older ones the
 * latest that failed.
 *
 * @param oldest what began before it is left out, in epoch seconds
 */
export function listCalls(
  calls: readonly NotedCall[],
  oldest: number,
): NotedCall[] {
  const list: NotedCall[] = [];
  for (const call of calls.toSorted((one, other) => other.at - one.at)) {
    if (call.at < oldest) break;
    if (!addToAlike(list, call)) list.push(call);
  }
  const failures = list.slice(LATEST).filter(({ outcome }) =>
    isFailure(outcome)
  );
  return [...list.slice(0, LATEST), ...failures.slice(0, OLDER_FAILURES)];
}

/** Failures first, each newest first. */
export function failuresFirst<C extends Pick<NotedCall, "at" | "outcome">>(
  calls: readonly C[],
): C[] {
  const rank = ({ outcome }: C) => isFailure(outcome) ? 0 : 1;
  return calls.toSorted((one, other) =>
    rank(one) - rank(other) || other.at - one.at
  );
}

/** Whether a list has calls that another one belongs to; it is then added. */
function addToAlike(list: NotedCall[], call: NotedCall): boolean {
  const index = list.findLastIndex((other) => isAlike(other, call));
  if (index !== -1) list[index] = together(list[index], call);
  return index !== -1;
}

function isAlike(one: NotedCall, other: NotedCall): boolean {
  return one.tool === other.tool && one.outcome === other.outcome &&
    Math.max(one.at, other.at) - Math.min(one.firstAt, other.firstAt) <
      TOGETHER_SECONDS;
}

function together(one: NotedCall, other: NotedCall): NotedCall {
  return {
    ...one,
    at: Math.max(one.at, other.at),
    firstAt: Math.min(one.firstAt, other.firstAt),
    count: one.count + other.count,
  };
}
