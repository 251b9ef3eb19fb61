/**
 * The steps of durable work that fail, counted by tool and step for operators.
 * All are in one value, so that their number is bounded in any case, and a
 * process writes them at most once a second.
 *
 * @module
 */
import type { Logger } from "../log/log.ts";
import { detached } from "../telemetry/current.ts";
import type { Database, Expiring } from "./database.ts";
import { stepFailuresKey } from "./keys.ts";

/** The time for which a failure is remembered after the last one. */
export const STEP_FAILURES_SECONDS = 7 * 24 * 60 * 60;
/** The most steps that are counted: the rarest go first. */
export const STEPS_COUNTED = 100;
/** The most characters of a name. */
const NAME_CHARACTERS = 100;
const TRIES = 5;
const WRITE_MILLISECONDS = 1000;

/** The failed tries of a step, in any task of its tool. */
export interface StepFailure {
  tool: string;
  /** The name of the step, a counter in it as `#`. */
  step: string;
  count: number;
  /** The times of the first and of the last, in epoch seconds. */
  since: number;
  at: number;
}

interface StepFailuresRecord extends Expiring {
  failures: readonly StepFailure[];
}

export type StepFailureStore = ReturnType<typeof stepFailureStore>;

/** Adds counts to others: the most frequent come first, and stay. */
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
  })).sort((a, b) => b.count - a.count || b.at - a.at).slice(0, STEPS_COUNTED);
}

/** Cuts a name, and lets the steps of a loop have one. */
function shortened(name: string): string {
  return name.replaceAll(/\d+/g, "#").slice(0, NAME_CHARACTERS).toWellFormed();
}

/** Opens the counts of a database. */
export function stepFailureStore(database: Database, log: Logger) {
  const key = stepFailuresKey();
  let noted: StepFailure[] = [];
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();

  async function tryWrite(added: readonly StepFailure[]): Promise<boolean> {
    const entry = await database.get<StepFailuresRecord>(key);
    const now = database.now();
    const failures = addStepFailures(entry.value?.failures ?? [], added, now);
    return await database.commit((transaction) =>
      transaction.check(entry).set<StepFailuresRecord>(key, {
        failures,
        expiresAt: now + STEP_FAILURES_SECONDS,
      })
    ) !== undefined;
  }

  async function write(): Promise<void> {
    const added = noted;
    noted = [];
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        if (await tryWrite(added)) return;
      }
      noted = addStepFailures(added, noted, database.now());
      startTimer();
    } catch (error) {
      // It may have been counted: a report is rather lost than told twice.
      log.warning("Failures of steps could not be counted", { error });
    }
  }

  function startTimer(): void {
    if (isClosed) return;
    timer ??= detached(() => setTimeout(flush, WRITE_MILLISECONDS));
  }

  /** Writes what is noted, one write at a time. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (noted.length === 0) return writing;
    return writing = writing.then(write);
  }

  return {
    /** Counts a failed try, and writes it within a second. */
    note({ tool, step }: Pick<StepFailure, "tool" | "step">): void {
      const at = database.now();
      const failure = {
        tool: tool.slice(0, NAME_CHARACTERS),
        step: shortened(step),
        count: 1,
        since: at,
        at,
      };
      noted = addStepFailures(noted, [failure], at);
      startTimer();
    },

    /** Lists the steps that failed most, the worst first: one read. */
    async list(): Promise<readonly StepFailure[]> {
      const entry = await database.get<StepFailuresRecord>(key);
      return addStepFailures(entry.value?.failures ?? [], [], database.now());
    },

    /** Writes what is noted; what cannot be written is lost. */
    async close(): Promise<void> {
      isClosed = true;
      await flush();
    },
  };
}
