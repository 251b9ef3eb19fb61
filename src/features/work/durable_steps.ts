/**
 * The members of a context that only durable work has. Each call is entered in
 * the journal: a result that an earlier run stored is returned at once,
 * anything else is done and its result stored.
 *
 * @module
 */
import type { StepOptions } from "../../authoring/durable.ts";
import { type AskedQuestion, unusedKey } from "../../core/protocol/question.ts";
import type { Step } from "./steps.ts";
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
import type { DurableContext } from "../../core/mcp/exchange/work.ts";

export class DurableSteps implements DurableContext {
  readonly #run: DurableRun;
  readonly #journal: Journal;
  readonly #executor: StepExecutor;

  /** @param steps the steps of earlier runs */
  constructor(run: DurableRun, steps: readonly Step[], version: number) {
    this.#run = run;
    this.#journal = new Journal(run, steps, version);
    this.#executor = new StepExecutor(this.#journal);
  }

  /** True as long as the run repeats steps of earlier runs. */
  get isReplay(): boolean {
    return this.#journal.isReplay;
  }

  step<T>(
    id: string,
    run: StepFunction<T>,
    { retries = 0 }: StepOptions = {},
    ready?: () => Promise<void>,
  ): Promise<T> {
    return this.#step(id, run, { retries, isRepeatable: retries > 0 }, ready);
  }

  /** Does a step that is done again when its process has died in it. */
  repeatableStep<T>(id: string, run: StepFunction<T>): Promise<T> {
    return this.#step(id, run, { retries: 0, isRepeatable: true });
  }

  #step<T>(
    id: string,
    run: StepFunction<T>,
    how: Repetition,
    ready?: () => Promise<void>,
  ): Promise<T> {
    return this.#enter("step", id, async (entry) => {
      const { known } = entry;
      if (known?.state === "kept") return parseKept<T>(known.text);
      if (known?.state === "failed") throw thrownAgain(known.error!);
      await ready?.();
      return await this.#executor.do(entry, run, how);
    });
  }

  hasKept(id: string): boolean {
    return this.#journal.hasKept(`step:${id}`);
  }

  /** @param how see {@linkcode Parking.waitUntil} */
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
   * Asks a question once: the answer is stored like the result of a step, and
   * belongs to the question of the same name and the same content.
   *
   * @param ask opens the question under a key that is the same in every run,
   * and passes the answer on, as JSON, to be stored
   * @param how `isOnPage`: the answer is given on a page, and `ask` itself lets
   * the run be parked while it waits for that
   */
  question<T>(
    question: AskedQuestion,
    ask: (
      key: string,
      keep: (answer: string) => Promise<void>,
    ) => Promise<unknown>,
    { isOnPage = false } = {},
  ): Promise<T> {
    const journal = this.#journal;
    const name = question.key ?? question.kind;
    return this.#enter("ask", name, async (entry) => {
      const { known } = entry;
      if (known?.state === "kept") return parseKept<T>(known.text);
      await this.#run.goOn();
      const key = known?.key ?? unusedKey(name, journal.keys);
      const asked = { key, asks: question.text };
      // Stored first: a later run finds the key by the content of the question.
      if (!known) await journal.save(entry, { ...asked, state: "begun" });
      let text: string | undefined;
      const keep = async (answer: string) => {
        await journal.save(entry, { ...asked, state: "kept", text: answer });
        text = answer;
      };
      const asking = () => ask(key, keep);
      await (isOnPage
        ? asking()
        : this.#run.parking.wait({ question: key }, asking));
      return parseKept<T>(text);
    }, question);
  }

  /**
   * Ends a run that has returned a result.
   *
   * @throws what {@linkcode Journal.checkEnd} throws
   */
  end(): void {
    this.#run.parking.end();
    this.#journal.checkEnd();
  }

  /**
   * Does a step, a sleep or a question in its order. After the end of the run
   * the promise never settles.
   */
  #enter<T>(
    kind: "step" | "sleep" | "ask",
    name: string,
    work: (entry: JournalEntry) => Promise<T>,
    question?: AskedQuestion,
  ): Promise<T> {
    const { parking, interrupt } = this.#run;
    // After its end a run does nothing more.
    if (parking.isOver) return new Promise(() => {});
    let entry: JournalEntry;
    try {
      entry = this.#journal.enter(kind, name, new Error(), question);
    } catch (error) {
      return interrupt(error);
    }
    return this.#doInOrder(entry, work);
  }

  async #doInOrder<T>(
    entry: JournalEntry,
    work: (entry: JournalEntry) => Promise<T>,
  ): Promise<T> {
    try {
      await this.#journal.waitForOrder(entry);
    } catch (error) {
      // An interruption, because the author's code could catch an exception.
      return await this.#run.interrupt(error);
    }
    try {
      return await work(entry);
    } finally {
      this.#journal.leave(entry);
    }
  }

  #endOf(id: string, until: number | Date): number {
    const { parking, claim: { expiresAt } } = this.#run;
    const end = until instanceof Date
      ? until.getTime() / 1000
      : parking.after(until);
    if (end < expiresAt) return end;
    throw new RangeError(
      `${titled(`sleep:${id}`)} must be a number of seconds or a Date, and ` +
        `end within the 90 days of its task, not ${until}`,
    );
  }
}
