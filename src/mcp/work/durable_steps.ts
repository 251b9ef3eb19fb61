/**
 * The members of a context that durable work has. Each call is entered in the
 * journal: what earlier runs have kept is given at once, the rest is done and
 * kept.
 *
 * @module
 */
import type { Durable } from "../../authoring/context.ts";
import type { StepOptions } from "../../authoring/durable.ts";
import { type AskedQuestion, unusedKey } from "../../protocol/question.ts";
import type { Step } from "../../store/steps.ts";
import type { DurableRun } from "./durable_run.ts";
import { Journal, type JournalEntry } from "./journal.ts";
import { parseKept, thrownAgain } from "./kept_value.ts";
import type { Parking } from "./parking.ts";
import {
  type Repetition,
  StepExecutor,
  type StepFunction,
} from "./step_executor.ts";
import { titled } from "./step_name.ts";

export class DurableSteps implements Durable {
  readonly #run: DurableRun;
  readonly #journal: Journal;
  readonly #executor: StepExecutor;

  /** @param steps those of earlier runs */
  constructor(run: DurableRun, steps: readonly Step[], version: number) {
    this.#run = run;
    this.#journal = new Journal(run, steps, version);
    this.#executor = new StepExecutor(this.#journal);
  }

  /** True as long as the run repeats what earlier ones did. */
  get isReplay(): boolean {
    return this.#journal.isReplay;
  }

  step<T>(
    id: string,
    run: StepFunction<T>,
    { retries = 0 }: StepOptions = {},
  ): Promise<T> {
    return this.#step(id, run, { retries, isRepeatable: retries > 0 });
  }

  /** Does a step that is done again when its process has died in it. */
  repeatableStep<T>(id: string, run: StepFunction<T>): Promise<T> {
    return this.#step(id, run, { retries: 0, isRepeatable: true });
  }

  #step<T>(id: string, run: StepFunction<T>, how: Repetition): Promise<T> {
    return this.#enter("step", id, async (entry) => {
      const { known } = entry;
      if (known?.state === "kept") return parseKept<T>(known.text);
      if (known?.state === "failed") throw thrownAgain(known.error!);
      return await this.#executor.do(entry, run, how);
    });
  }

  hasKept(id: string): boolean {
    return this.#journal.hasKept(`step:${id}`);
  }

  /** @param how as of {@linkcode Parking.waitUntil} */
  sleep(
    id: string,
    until: number | Date,
    how?: Parameters<Parking["waitUntil"]>[1],
  ): Promise<void> {
    return this.#enter("sleep", id, async (entry) => {
      const end = entry.known?.until ?? this.#endOf(id, until);
      if (!entry.known) {
        await this.#run.goOn();
        await this.#journal.save(entry, { state: "kept", until: end });
      }
      await this.#run.parking.waitUntil(end, how);
    });
  }

  /**
   * Asks a question once: its answer is kept as a step is, and is given only to
   * a question of the same name that asks the same.
   *
   * @param ask opens it under its key, the same in every run, and hands its
   * answer, as JSON, to be kept
   * @param waiting its wait; by default until the answer, with no process
   */
  question<T>(
    question: AskedQuestion,
    ask: (
      key: string,
      keep: (answer: string) => Promise<void>,
    ) => Promise<unknown>,
    waiting?: Parameters<Parking["wait"]>[0],
  ): Promise<T> {
    const journal = this.#journal;
    const name = question.key ?? question.kind;
    return this.#enter("ask", name, async (entry) => {
      const { known } = entry;
      if (known?.state === "kept") return parseKept<T>(known.text);
      await this.#run.goOn();
      const key = known?.key ?? unusedKey(name, journal.keys);
      const asked = { key, asks: question.text };
      // Another run finds the key by what is asked.
      if (!known) await journal.save(entry, { ...asked, state: "begun" });
      let text: string | undefined;
      const keep = async (answer: string) => {
        await journal.save(entry, { ...asked, state: "kept", text: answer });
        text = answer;
      };
      await this.#run.parking.wait(
        waiting ?? { question: key },
        () => ask(key, keep),
      );
      return parseKept<T>(text);
    }, question);
  }

  /** Ends a run that has its result. @throws as {@linkcode Journal.checkEnd} */
  end(): void {
    this.#run.parking.end();
    this.#journal.checkEnd();
  }

  /** Does a step, a sleep or a question in its order; none after the run's end. */
  #enter<T>(
    kind: "step" | "sleep" | "ask",
    name: string,
    work: (entry: JournalEntry) => Promise<T>,
    question?: AskedQuestion,
  ): Promise<T> {
    const { parking, interrupt } = this.#run;
    // Nothing that a run does after its end is wanted.
    if (parking.isOver) return new Promise(() => {});
    let entry: JournalEntry;
    try {
      entry = this.#journal.enter(kind, name, new Error(), question);
    } catch (error) {
      return interrupt(error);
    }
    return this.#lead(entry, work);
  }

  async #lead<T>(
    entry: JournalEntry,
    work: (entry: JournalEntry) => Promise<T>,
  ): Promise<T> {
    try {
      await this.#journal.waitForOrder(entry);
    } catch (error) {
      // Its code cannot catch this.
      return await this.#run.interrupt(error);
    }
    try {
      return await work(entry);
    } finally {
      this.#journal.leave(entry);
    }
  }

  #endOf(id: string, until: number | Date): number {
    const { now, claim: { expiresAt } } = this.#run;
    const end = until instanceof Date
      ? Math.ceil(until.getTime() / 1000)
      : now() + Math.ceil(until);
    if (end < expiresAt) return end;
    throw new RangeError(
      `${titled(`sleep:${id}`)} must be a number of seconds or a Date, and ` +
        `end within the 90 days of its task, not ${until}`,
    );
  }
}
