/**
 * Failures on this side, in the log: each cause once a second, so that an
 * outage is neither silent nor a flood.
 *
 * @module
 */
import type { Logger } from "./log.ts";
import type { Properties } from "./log_line.ts";
import { headOf, reasonsOf } from "../thrown.ts";

const QUIET_MILLISECONDS = 1000;
/** The most causes that are remembered; beyond it all are logged again. */
const MOST_CAUSES = 100;

interface Told {
  atMilliseconds: number;
  /** The number of times it was left out since. */
  repeated: number;
}

/** The logged causes of each log: each server has its own. */
const toldTo = new WeakMap<Logger, Map<string, Told>>();

/**
 * Logs the failure of something that we depend on, with the number of
 * repetitions since the last line.
 */
export function logFailure(
  log: Logger,
  error: unknown,
  properties: Properties,
): void {
  let told = toldTo.get(log);
  if (!told) toldTo.set(log, told = new Map());
  const cause = rootOf(error);
  const time = Date.now();
  const before = told.get(cause);
  if (
    before && Math.abs(time - before.atMilliseconds) < QUIET_MILLISECONDS
  ) {
    before.repeated++;
    return;
  }
  if (told.size >= MOST_CAUSES) told.clear();
  told.set(cause, { atMilliseconds: time, repeated: 0 });
  log.warning("Not available", {
    ...properties,
    repeated: before?.repeated || undefined,
    error,
  });
}

/** Finds the root cause, which all failures of one cause share. */
function rootOf(error: unknown): string {
  const root = reasonsOf(error).at(-1) ?? error;
  return headOf(root).slice(0, 200);
}
