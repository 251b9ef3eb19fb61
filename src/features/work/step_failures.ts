/**
 * The steps of durable work that fail, counted by tool and step for operators.
 *
 * @module
 */
import type { Logger } from "../../core/log/log.ts";
import type { Database } from "../../core/kv/database.ts";
import { stepFailuresKey } from "../../core/kv/keys.ts";
import { sharedList } from "../../core/store/shared_list.ts";

/** The time for which a step's failures are remembered after the last one. */
export const STEP_FAILURES_SECONDS = 7 * 24 * 60 * 60;
/** The most steps that are counted: the rarest go first. */
export const MAX_STEPS_COUNTED = 100;
const MAX_NAME_CHARACTERS = 100;

/** The failed tries of a step, in any task of its tool. */
export interface StepFailure {
  tool: string;
  /** The name of the step, a counter in it as `#`. */
  step: string;
  count: number;
  /** The times of the first and the last failed try, in epoch seconds. */
  since: number;
  at: number;
}

export type StepFailureStore = ReturnType<typeof stepFailureStore>;

/** Merges counts, the most frequent first. The rarest are dropped. */
export function addStepFailures(
  known: readonly StepFailure[],
  added: readonly StepFailure[],
  now: number,
): StepFailure[] {
  const all = [...known, ...added]
    .filter(({ at }) => at > now - STEP_FAILURES_SECONDS);
  const same = Map.groupBy(
    all,
    ({ tool, step }) => JSON.stringify([tool, step]),
  );
  return [...same.values()].map((of) => ({
    tool: of[0].tool,
    step: of[0].step,
    count: of.reduce((sum, { count }) => sum + count, 0),
    since: Math.min(...of.map(({ since }) => since)),
    at: Math.max(...of.map(({ at }) => at)),
  })).sort((a, b) => b.count - a.count || b.at - a.at).slice(
    0,
    MAX_STEPS_COUNTED,
  );
}

/** Cuts a name, and writes its numbers as `#`: the steps of a loop are one. */
function shortened(name: string): string {
  return name.replaceAll(/\d+/g, "#").slice(0, MAX_NAME_CHARACTERS)
    .toWellFormed();
}

export function stepFailureStore(database: Database, log: Logger) {
  const failures = sharedList<StepFailure>(database, log, {
    key: stepFailuresKey(),
    member: "failures",
    keepSeconds: STEP_FAILURES_SECONDS,
    complaint: "Failures of steps could not be counted",
    add: (known, added) => addStepFailures(known, added, database.now()),
  });
  return {
    /** Counts a failed try, and writes it within a second. */
    note({ tool, step }: Pick<StepFailure, "tool" | "step">): void {
      const at = database.now();
      failures.note({
        tool: tool.slice(0, MAX_NAME_CHARACTERS),
        step: shortened(step),
        count: 1,
        since: at,
        at,
      });
    },

    /** Lists the steps that failed most, the worst first: one read. */
    async list(): Promise<readonly StepFailure[]> {
      return addStepFailures(await failures.read(), [], database.now());
    },

    close: failures.close,
  };
}
