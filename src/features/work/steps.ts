/**
 * The steps of durable work. Each is stored in one commit that checks the
 * claim, so a process that has lost the claim stores nothing.
 *
 * @module
 */
import {
  type Database,
  type Expiring,
  type Found,
  MAX_CHECKS,
  type Transaction,
} from "../../core/kv/database.ts";
import { stepFailuresKey, taskStepKey } from "../../core/kv/keys.ts";
import { bestEffort } from "../../core/kv/operations.ts";
import type { Claim, RunSize } from "./run_record.ts";
import {
  deleteText,
  readText,
  saveText,
  textLengthOf,
  type TextRef,
} from "../../core/kv/texts.ts";
import type { Logger } from "../../core/log/log.ts";
import { sharedList } from "../../core/store/shared_list.ts";

const MAX_INLINE_CHARACTERS = 28_000;
/** The maximum number of steps that one commit rewrites or deletes. */
const STEPS_PER_COMMIT = MAX_CHECKS;

/** `waiting`: between two tries. `kept`: its result is stored. */
type StepState = "begun" | "waiting" | "kept" | "failed";

export interface Step {
  /**
   * The step's kind and name: `step:draft`. A question also has the fingerprint
   * of what it asks: `ask:sure#…`.
   */
  id: string;
  /** The step's position among all steps of a run, from 1. */
  number: number;
  /** The version of the tool's steps that the run had. */
  version: number;
  /** True if no other step was in progress when this one began. */
  isAlone: boolean;
  state: StepState;
  /** Epoch seconds. */
  startedAt: number;
  endedAt?: number;
  attempts?: number;
  /** The maximum number of tries; absent if only one is allowed. */
  most?: number;
  /** The end of a sleep, or of the pause before the next try. */
  until?: number;
  /** True if the step's function has read `once`. */
  usesOnce?: boolean;
  /**
   * For a `kept` step: its result as JSON; absent if the result is undefined.
   */
  text?: string;
  /** For a question: the key under which the client answers it. */
  key?: string;
  /** For a question: the beginning of its text. */
  asks?: string;
  /** The latest exception of a `failed` or `waiting` step. */
  error?: { name: string; message: string };
}

interface StepRecord extends Expiring, Omit<Step, "text"> {
  result?: TextRef;
}

/** Returns the author's name of a step, without kind and fingerprint. */
export function nameOfStep(id: string): string {
  const name = id.slice(id.indexOf(":") + 1);
  return id.startsWith("ask:") ? name.replace(/#[\w-]+(\.\d+)?$/, "") : name;
}

/** True if a database entry is a step of this name that has ended. */
export function endsStep(
  { key, value }: Pick<Deno.KvEntry<unknown>, "key" | "value">,
  taskId: string,
  name: string,
): boolean {
  const { id, state } = value as Partial<StepRecord>;
  return (state === "kept" || state === "failed") &&
    id !== undefined && nameOfStep(id) === name &&
    JSON.stringify(key) === JSON.stringify(taskStepKey(taskId, id));
}

export type StepStore = ReturnType<typeof stepStore>;

export function stepStore(database: Database) {
  return {
    /** Stores a step. Returns false if the claim is lost. */
    async save(claim: Claim, { text, ...step }: Step): Promise<boolean> {
      const { taskId, term, expiresAt } = claim;
      const result = text === undefined
        ? undefined
        : await saveText(database, text, {
          expiresAt,
          inlineCharacters: MAX_INLINE_CHARACTERS,
        });
      const isSaved = await database.commit((transaction) =>
        transaction.check(term).set<StepRecord>(
          taskStepKey(taskId, step.id),
          { ...step, ...result && { result }, expiresAt },
        )
      );
      if (!isSaved && result) await deleteText(database, result);
      if (isSaved && result) claim.characters += textLengthOf(result);
      return isSaved !== undefined;
    },

    async list(taskId: string): Promise<Step[]> {
      const records = await inOrder(taskId);
      return await Promise.all(
        records.map(async ({ result, expiresAt: _, ...step }) => ({
          ...step,
          ...result && { text: await readText(database, result) },
        })),
      );
    },

    /**
     * Counts the ended steps of a task, and the characters of their results.
     */
    async sizeOf(taskId: string): Promise<RunSize> {
      const records = await inOrder(taskId);
      const ended = records.filter(({ state }) =>
        state === "kept" || state === "failed"
      );
      const lengths = ended.map(({ result }) =>
        result ? textLengthOf(result) : 0
      );
      const characters = lengths.reduce((sum, length) => sum + length, 0);
      return { kept: ended.length, characters };
    },

    /** Lists the steps of a task in order, without their results. */
    async outline(taskId: string): Promise<Omit<Step, "text">[]> {
      const records = await inOrder(taskId);
      return records.map(({ result: _, expiresAt: __, ...step }) => step);
    },

    /**
     * Deletes the results of the steps of an ended task. The steps are kept
     * until the task expires.
     */
    async settle(taskId: string, expiresAt: number): Promise<void> {
      await rewrite(taskId, (transaction, some) => {
        // Because of this check, a step that is deleted meanwhile does not come
        // back.
        transaction.check(...some);
        for (const { key, value: { result: _, asks: __, ...step } } of some) {
          transaction.set<StepRecord>(key, { ...step, expiresAt });
        }
      });
    },

    async forget(taskId: string): Promise<void> {
      await rewrite(taskId, (transaction, some) => {
        transaction.delete(...some.map(({ key }) => key));
      });
    },
  };

  async function inOrder(taskId: string): Promise<StepRecord[]> {
    const listed = await database.list<StepRecord>(taskStepKey(taskId));
    return listed.map(({ value }) => value).sort((a, b) => a.number - b.number);
  }

  /**
   * Rewrites or deletes all steps of a task, in commits of bounded size, and
   * then deletes the texts of their results.
   */
  async function rewrite(
    taskId: string,
    write: (transaction: Transaction, some: Found<StepRecord>[]) => void,
  ): Promise<void> {
    const listed = await database.list<StepRecord>(taskStepKey(taskId));
    for (let i = 0; i < listed.length; i += STEPS_PER_COMMIT) {
      const some = listed.slice(i, i + STEPS_PER_COMMIT);
      await bestEffort(() =>
        database.commit((transaction) => write(transaction, some))
      );
    }
    for (const { value: { result } } of listed) {
      if (result) await deleteText(database, result);
    }
  }
}

const MAX_ID_CHARACTERS = 200;

/**
 * Describes a step for its author: its kind and name, and how its question
 * begins.
 */
export function named(id: string, asks?: string): string {
  const name = `${KINDS[id.slice(0, id.indexOf(":"))]} "${nameOfStep(id)}"`;
  return asks === undefined ? name : `${name} (${asks})`;
}

/** Describes a step, as the beginning of a sentence. */
export function stepTitle(id: string, asks?: string): string {
  const name = named(id, asks);
  return name[0].toUpperCase() + name.slice(1);
}

const KINDS: Readonly<Record<string, string>> = {
  step: "the step",
  sleep: "the sleep",
  ask: "the question",
};

/** @throws {TypeError} unless the ID is a string of 1 to 200 characters */
export function checkName(name: unknown): void {
  if (
    typeof name === "string" && name !== "" && name.length <= MAX_ID_CHARACTERS
  ) {
    return;
  }
  throw new TypeError(
    `The ID of a step must be a text of 1 to ${MAX_ID_CHARACTERS} characters`,
  );
}

/**
 * Returns the line of the author's code in an error's stack, after a space.
 * Empty if there is none.
 */
export function placeOf({ stack = "" }: Error): string {
  const line = stack.split("\n").slice(1)
    .find((line) =>
      !line.includes("/src/features/work/") &&
      !line.includes("/src/core/mcp/exchange/")
    );
  return line === undefined ? "" : ` ${line.trim()}`;
}

/** A step, sleep or question where earlier runs had a different one. */
interface Interlude {
  id: string;
  number: number;
  question?: { text: string };
  where: Error;
}

/** Thrown if the author changed the steps of work that has not ended. */
export class DivergenceError extends Error {
  override name = "DivergenceError";

  /**
   * @param before the step of earlier runs
   * @param instead the step of this run; absent if it ended
   */
  constructor(before: Step, instead?: Interlude) {
    const was = named(before.id, before.asks);
    const found = instead
      ? `number ${before.number} was ${was}, and ${
        named(instead.id, instead.question?.text)
      } is number ${instead.number}${placeOf(instead.where)}`
      : `${was}, which was number ${before.number}, is not there any more`;
    super(
      `The work has changed: ${found}. ` +
        "Put it back, or raise the version of the tool's task",
    );
  }
}

/** The time for which a step's failures are remembered after the last one. */
export const STEP_FAILURES_SECONDS = 7 * 24 * 60 * 60;
/**
 * The maximum number of steps whose failures are counted; the rarest are
 * dropped.
 */
export const MAX_STEPS_COUNTED = 100;
const MAX_NAME_CHARACTERS = 100;

/** The failed tries of a step, in any task of its tool. */
export interface StepFailure {
  tool: string;
  /** The name of the step, with `#` for each number in it. */
  step: string;
  count: number;
  /** The times of the first and last failed try, in epoch seconds. */
  since: number;
  at: number;
}

export type StepFailureStore = ReturnType<typeof stepFailureStore>;

/**
 * Merges counts, most frequent first. Drops those that are too old, then the
 * rarest.
 */
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

/**
 * Shortens a name, and replaces its numbers with `#`, so that the steps of a
 * loop are counted as one.
 */
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
    /** Counts a failed try; stored within a second. */
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

    /** Lists the steps that failed most, in one read. */
    async list(): Promise<readonly StepFailure[]> {
      return addStepFailures(await failures.read(), [], database.now());
    },

    close: failures.close,
  };
}
