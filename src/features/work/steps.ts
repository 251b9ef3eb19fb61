/**
 * The steps of durable work. Each is stored in one commit that checks the claim
 * on the run: a process that has lost its claim stores nothing any more.
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
import { taskStepKey } from "../../core/kv/keys.ts";
import { tidy } from "../../core/kv/persist.ts";
import type { Claim, RunSize } from "./run_record.ts";
import {
  deleteText,
  lengthOf,
  readText,
  saveText,
  type TextRef,
} from "../../core/kv/texts.ts";

const MAX_INLINE_CHARACTERS = 28_000;
/** The most steps that one commit rewrites or deletes. */
const STEPS_PER_COMMIT = MAX_CHECKS;

/** The state of a step: at work, between two tries, or over. */
type StepState = "begun" | "waiting" | "kept" | "failed";

export interface Step {
  /**
   * The step's kind and name: `step:draft`. A question also has the fingerprint
   * of what it asks: `ask:sure#…`.
   */
  id: string;
  /** The step's number among all steps of a run, from 1 on. */
  number: number;
  /** The version of the tool's steps that was in use when the step ran. */
  version: number;
  /** True if no other step was under way when this one began. */
  isAlone: boolean;
  state: StepState;
  /** Epoch seconds. */
  startedAt: number;
  endedAt?: number;
  /** The tries that have failed. */
  attempts?: number;
  /** The most tries, where there may be several. */
  most?: number;
  /** The end of a sleep, or of the pause before the next try. */
  until?: number;
  /** True if the step's function has read `once`. */
  usesOnce?: boolean;
  /** For a `kept` step: its result as JSON; absent if that is undefined. */
  text?: string;
  /** For a question: the key by which its client answers it. */
  key?: string;
  /** For a question: the beginning of its text. */
  asks?: string;
  /** For a `failed` or `waiting` step: its latest exception. */
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

/** True if a write stores the end of the step with this name. */
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
    /** Stores a step as it is now. Returns false if the claim is lost. */
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
      if (isSaved && result) claim.characters += lengthOf(result);
      return isSaved !== undefined;
    },

    /** Lists the steps of a task in their order. */
    async list(taskId: string): Promise<Step[]> {
      const records = await inOrder(taskId);
      return await Promise.all(
        records.map(async ({ result, expiresAt: _, ...step }) => ({
          ...step,
          ...result && { text: await readText(database, result) },
        })),
      );
    },

    /** Counts the steps of a task that have ended, and their results' length. */
    async sizeOf(taskId: string): Promise<RunSize> {
      const records = await inOrder(taskId);
      const ended = records.filter(({ state }) =>
        state === "kept" || state === "failed"
      );
      const lengths = ended.map(({ result }) => result ? lengthOf(result) : 0);
      const characters = lengths.reduce((sum, length) => sum + length, 0);
      return { kept: ended.length, characters };
    },

    /** Lists the steps of a task in their order, without their results. */
    async outline(taskId: string): Promise<Omit<Step, "text">[]> {
      const records = await inOrder(taskId);
      return records.map(({ result: _, expiresAt: __, ...step }) => step);
    },

    /**
     * Deletes the results of a task that has ended. Its steps stay in outline
     * until the task expires.
     */
    async settle(taskId: string, expiresAt: number): Promise<void> {
      await rewrite(taskId, (transaction, some) => {
        // The check keeps a step that is deleted meanwhile from coming back.
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

  /** Writes all steps of a task, some at a time, and drops their results. */
  async function rewrite(
    taskId: string,
    write: (transaction: Transaction, some: Found<StepRecord>[]) => void,
  ): Promise<void> {
    const listed = await database.list<StepRecord>(taskStepKey(taskId));
    for (let i = 0; i < listed.length; i += STEPS_PER_COMMIT) {
      const some = listed.slice(i, i + STEPS_PER_COMMIT);
      await tidy(() =>
        database.commit((transaction) => write(transaction, some))
      );
    }
    for (const { value: { result } } of listed) {
      if (result) await deleteText(database, result);
    }
  }
}
