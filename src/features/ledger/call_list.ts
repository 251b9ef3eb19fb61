/**
 * The list of a connection's latest calls. Some older failures are kept, so
 * that a busy client does not displace them.
 *
 * @module
 */
import { isFailure, type Outcome } from "../../core/log/request.ts";

/**
 * The calls of one tool within an hour with the same outcome, without
 * arguments.
 */
export interface LedgerEntry {
  /** The start of the latest of these calls, in epoch seconds. */
  at: number;
  /** The start of the first of these calls, in epoch seconds. */
  firstAt: number;
  tool: string;
  outcome: Outcome;
  count: number;
}

export type EndedCall = Pick<LedgerEntry, "at" | "tool" | "outcome">;

const LATEST = 40;
const OLDER_FAILURES = 10;

/** The maximum number of entries of one connection. */
export const CALLS = LATEST + OLDER_FAILURES;

/**
 * The seconds within which calls of one tool with the same outcome share an
 * entry.
 */
const TOGETHER_SECONDS = 60 * 60;

/**
 * Adds a call to the calls to be written, oldest first, usually with one or two
 * comparisons.
 */
export function addCall(
  waiting: LedgerEntry[],
  { at, tool, outcome }: EndedCall,
): void {
  const call: LedgerEntry = { at, firstAt: at, tool, outcome, count: 1 };
  if (mergeIntoEntry(waiting, call)) return;
  waiting.push(call);
  if (waiting.length < 2 * CALLS) return;
  waiting.splice(0, Infinity, ...listCalls(waiting, 0).reverse());
}

/**
 * Lists the calls to store, newest first: the latest ones, and the latest
 * failures among the others.
 *
 * @param oldest the epoch second before which calls are dropped
 */
export function listCalls(
  calls: readonly LedgerEntry[],
  oldest: number,
): LedgerEntry[] {
  const list: LedgerEntry[] = [];
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
export function failuresFirst<C extends Pick<LedgerEntry, "at" | "outcome">>(
  calls: readonly C[],
): C[] {
  const rank = ({ outcome }: C) => isFailure(outcome) ? 0 : 1;
  return calls.toSorted((one, other) =>
    rank(one) - rank(other) || other.at - one.at
  );
}

/**
 * Counts a call in an entry of the same tool, outcome and hour. Returns false
 * if there is none.
 */
function mergeIntoEntry(list: LedgerEntry[], call: LedgerEntry): boolean {
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

function isSameEntry(one: LedgerEntry, other: LedgerEntry): boolean {
  return one.tool === other.tool && one.outcome === other.outcome &&
    Math.max(one.at, other.at) - Math.min(one.firstAt, other.firstAt) <
      TOGETHER_SECONDS;
}
