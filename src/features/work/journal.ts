/**
 * The journal of durable work: every step, sleep and question, with its result
 * once it has one. Each is matched by its name and content. In a replay the
 * order must be that of the earlier runs. A different order means that the code
 * has changed, so that stored results would go to the wrong steps.
 *
 * @module
 */
import { pause } from "../../core/clock.ts";
import type { Step } from "./steps.ts";
import type { AskedQuestion } from "../../core/protocol/question.ts";
import type { DurableRun } from "./durable_run.ts";
import {
  checkName,
  DivergenceError,
  named,
  placeOf,
  titled,
} from "./step_name.ts";

/**
 * The time for which a step waits for the step that came before it in earlier
 * runs: parallel branches may arrive in another order.
 */
const PATIENCE_MILLISECONDS = 5000;

/** The most steps, sleeps and questions of one task. */
export const MAX_STEPS = 1000;

/** The most characters that the results of one task have together. */
export const MAX_CHARACTERS = 4 * 1024 * 1024;

/** A step, sleep or question as this run asks for it. */
export interface JournalEntry {
  id: string;
  /** The number of the entry in this run, from 1. */
  number: number;
  /** True if no other entry was under way when this one began. */
  isAlone: boolean;
  question?: AskedQuestion;
  /** The step as an earlier run stored it. */
  known?: Step;
  /** Its beginning in the first run that stored it, in epoch seconds. */
  startedAt: number;
  /** The place in the author's code, as the stack of an error. */
  where: Error;
}

/** The members of a step that change while it is done. */
type StepState =
  & Pick<Step, "state">
  & Partial<Omit<Step, "id" | "number" | "version" | "isAlone" | "startedAt">>;

export class Journal {
  readonly #known: ReadonlyMap<string, Step>;
  /** The steps of this version that earlier runs began, by their number. */
  readonly #before: readonly Step[];
  readonly #entries = new Map<string, JournalEntry>();
  /** Entries whose work has not ended. */
  readonly #open = new Set<JournalEntry>();
  /** The keys of the task's questions, in earlier runs and in this one. */
  readonly keys: Set<string>;
  #next = 0;
  #entered = Promise.withResolvers<void>();
  #characters = 0;

  /**
   * @param steps the steps of earlier runs
   * @param version the version of the tool's steps
   */
  constructor(
    readonly run: DurableRun,
    steps: readonly Step[],
    private readonly version: number,
  ) {
    this.#known = new Map(steps.map((step) => [step.id, step]));
    this.#before = steps.filter((step) => step.version === version);
    this.keys = new Set(steps.flatMap(({ key }) => key ?? []));
    for (const { text = "" } of steps) this.#characters += text.length;
  }

  /** True as long as steps of earlier runs are still to come. */
  get isReplay(): boolean {
    return this.#missing !== undefined;
  }

  /** The first step of earlier runs that this run has not entered yet. */
  get #missing(): Step | undefined {
    return this.#before[this.#next];
  }

  hasKept(id: string): boolean {
    return this.#known.get(id)?.state === "kept";
  }

  /**
   * Enters a step, sleep or question of the author's code.
   *
   * @throws {TypeError} when the ID is no text, or was used before
   * @throws {RangeError} when the task has too many entries
   */
  enter(
    kind: "step" | "sleep" | "ask",
    name: string,
    where: Error,
    question?: AskedQuestion,
  ): JournalEntry {
    checkName(name);
    const id = question
      ? this.#questionId(name, question, where)
      : `${kind}:${name}`;
    const before = this.#entries.get(id);
    if (before) {
      throw new TypeError(
        `${titled(id)} is there twice${placeOf(before.where)} and${
          placeOf(where)
        }: give a loop's steps a counter`,
      );
    }
    const isAlone = this.#open.size === 0;
    const number = this.#entries.size + 1;
    const known = this.#known.get(id);
    const startedAt = known?.startedAt ?? this.run.now();
    const entry = { id, number, isAlone, startedAt, question, known, where };
    this.#entries.set(id, entry);
    this.#open.add(entry);
    while (this.#missing && this.#entries.has(this.#missing.id)) this.#next++;
    this.#entered.resolve();
    this.#entered = Promise.withResolvers();
    if (number > MAX_STEPS) {
      throw new RangeError(
        `${titled(id)} is one too many: a task has at most ${MAX_STEPS}`,
      );
    }
    return entry;
  }

  /**
   * Makes the ID of a question. A question that is repeated, as in a loop, gets
   * another ID.
   *
   * @throws {TypeError} while the same question to a person is open: an answer
   * could be for either
   */
  #questionId(
    name: string,
    { fingerprint, text, isForPerson }: AskedQuestion,
    where: Error,
  ): string {
    const first = `ask:${name}#${fingerprint}`;
    let id = first;
    for (let n = 2; this.#entries.has(id); n++) {
      const before = this.#entries.get(id)!;
      if (isForPerson && this.#open.has(before)) {
        throw new TypeError(
          `${titled(id, text)} is open twice${placeOf(before.where)} and${
            placeOf(where)
          }: give each a key of its own, or ask one after the other`,
        );
      }
      id = `${first}.${n}`;
    }
    return id;
  }

  /**
   * Waits until this run has entered every step that came before this one in
   * earlier runs.
   *
   * @throws {DivergenceError}
   */
  async waitForOrder(entry: JournalEntry): Promise<void> {
    if (!this.#missing) return;
    const { known, number } = entry;
    const { version, run: { signal } } = this;
    const place = known?.version === version ? known.number : number;
    const patience = new AbortController();
    const ending = AbortSignal.any([signal, patience.signal]);
    let over: Promise<"over"> | undefined;
    try {
      for (;;) {
        const missing = this.#missing;
        if (!missing || missing.number > place) return;
        if (this.#isSequential) throw new DivergenceError(missing, entry);
        over ??= pause(PATIENCE_MILLISECONDS, ending).then(() => "over");
        const entered = this.#entered.promise;
        if (await Promise.race([entered, over]) === "over") {
          throw new DivergenceError(missing, entry);
        }
      }
    } finally {
      patience.abort();
    }
  }

  get #isSequential(): boolean {
    return this.#open.size === 1 && this.#before.every((step) => step.isAlone);
  }

  leave(entry: JournalEntry): void {
    this.#open.delete(entry);
  }

  /**
   * Checks a run that has returned a result: it must have awaited all its
   * steps, and asked for all those of earlier runs. Sleeps and questions may be
   * left open, such as the one that lost a race with a time limit.
   *
   * @throws {DivergenceError | TypeError}
   */
  checkEnd(): void {
    const open = [...this.#open].find(({ id }) => id.startsWith("step:"));
    if (open) {
      throw new TypeError(
        `${titled(open.id)} was not awaited${placeOf(open.where)}`,
      );
    }
    if (this.#missing) throw new DivergenceError(this.#missing);
  }

  /** Stores an entry in its present state. */
  async save(entry: JournalEntry, state: StepState): Promise<void> {
    await this.run.save(this.stepOf(entry, state));
    this.#characters += state.text?.length ?? 0;
  }

  /** Makes the record of an entry. */
  stepOf(
    { id, number, isAlone, startedAt }: JournalEntry,
    state: StepState,
  ): Step {
    const { version } = this;
    return { id, number, version, isAlone, startedAt, ...state };
  }

  /** @throws {RangeError} when the results of the task have no room for one more */
  checkRoom({ id }: JournalEntry, text = ""): void {
    if (this.#characters + text.length <= MAX_CHARACTERS) return;
    throw new RangeError(
      `The result of ${named(id)} cannot be kept: those of one task have at ` +
        `most ${MAX_CHARACTERS} characters together`,
    );
  }
}
