/**
 * The context members that only durable work has. Each call is recorded in the
 * journal. If an earlier run stored the call's result, this result is returned.
 * Otherwise the work is done, and the result is stored.
 *
 * @module
 */
import type { StepContext, StepOptions } from "../../authoring/durable.ts";
import { type AskedQuestion, unusedKey } from "../../core/protocol/question.ts";
import { named, type Step, stepTitle } from "./steps.ts";
import {
  type DurableRun,
  isApproval,
  Journal,
  type JournalEntry,
  parseKept,
  printKept,
  printThrown,
  thrownAgain,
} from "./journal.ts";
import type { Parking } from "./parking.ts";
import type { DurableContext } from "../../core/mcp/exchange/work.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { RpcCode, RpcError } from "../../core/errors.ts";

export class DurableSteps implements DurableContext {
  readonly #run: DurableRun;
  readonly #journal: Journal;
  readonly #executor: StepExecutor;
  readonly hasApproval: boolean;
  readonly isUnderWay: boolean;
  readonly isKept: boolean;

  constructor(run: DurableRun, steps: readonly Step[], version: number) {
    this.#run = run;
    this.#journal = new Journal(run, steps, version);
    this.#executor = new StepExecutor(this.#journal);
    this.hasApproval = steps.some(isApproval);
    this.isKept = steps.some((it) => isApproval(it) && it.state === "kept");
    this.isUnderWay = !steps.every(isApproval);
  }

  /** True until the run has come to all steps of earlier runs. */
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

  /** Does a step that is done again if its process dies during it. */
  repeatableStep<T>(id: string, run: StepFunction<T>): Promise<T> {
    return this.#step(id, run, { retries: 0, isRepeatable: true });
  }

  #step<T>(
    id: string,
    run: StepFunction<T>,
    how: StepRepetition,
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
        await this.#run.checkMayContinue();
        await this.#journal.save(entry, { state: "kept", until: end });
      }
      await this.#run.parking.waitUntil(end, how);
    });
  }

  /**
   * Asks a question once, and stores the answer like the result of a step. A
   * later run that asks the same question under the same name gets the stored
   * answer.
   *
   * @param ask asks the question under `key`, which is the same in every run,
   *   and must pass the answer, as JSON, to `keep`
   * @param how `isOnPage`: the answer is given on a page, and `ask` itself
   *   parks the run until then
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
      await this.#run.checkMayContinue();
      const key = known?.key ?? unusedKey(name, journal.keys);
      const asked = { key, asks: question.text };
      // The key is stored before the question is asked, because a later run has
      // to ask under the same key.
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
   * Checks the end of a run that returned.
   *
   * @throws {DivergenceError | TypeError} if it left out steps or did not await
   * one
   */
  end(): void {
    this.#run.parking.end();
    this.#journal.checkEnd();
  }

  /**
   * Does a step, sleep or question in its order. Never settles once the run has
   * ended.
   */
  #enter<T>(
    kind: "step" | "sleep" | "ask",
    name: string,
    work: (entry: JournalEntry) => Promise<T>,
    question?: AskedQuestion,
  ): Promise<T> {
    const { parking, interrupt } = this.#run;
    // A run that has ended does nothing more.
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
      `${
        stepTitle(`sleep:${id}`)
      } must be a number of seconds or a Date, and ` +
        `end within the 90 days of its task, not ${until}`,
    );
  }
}

const MAX_PAUSE_SECONDS = 300;
/** The number of processes that may die during a repeatable step. */
const MAX_DEATHS = 10;

export type StepFunction<T> = (context: StepContext) => MaybePromise<T>;

export interface StepRepetition {
  /** The maximum number of tries after an exception. */
  retries: number;
  /** True if the step is done again if its process died during it. */
  isRepeatable: boolean;
}

type Attempt = Pick<Step, "attempts" | "most" | "usesOnce">;

export class StepExecutor {
  #hasKept = false;

  constructor(private readonly journal: Journal) {}

  /** Does a step that has not ended yet, and stores its result or exception. */
  async do<T>(
    entry: JournalEntry,
    run: StepFunction<T>,
    { retries, isRepeatable }: StepRepetition,
  ): Promise<T> {
    const { journal, journal: { run: { claim, signal, parking } } } = this;
    const usesOnce = entry.known?.usesOnce === true;
    isRepeatable ||= usesOnce;
    let attempts = await this.#attemptsBefore(entry, { retries, isRepeatable });
    for (;;) {
      await journal.run.checkMayContinue();
      const attempt: Attempt = {
        ...attempts > 0 && { attempts },
        ...retries > 0 && { most: retries + 1 },
        ...usesOnce && { usesOnce },
      };
      // The beginning of a step is stored first if the step must not be
      // repeated, or if it may be the one that kills process after process.
      if (!isRepeatable || claim.run.deaths > 0 && !this.#hasKept) {
        await journal.save(entry, { ...attempt, state: "begun" });
        await journal.run.ensureClaim();
      }
      let value: T;
      try {
        const number = attempts + 1;
        value = await this.#call(entry, attempt, run, number, isRepeatable);
      } catch (error) {
        const thrown = journal.run.code().clean(error);
        // An error after the end of the run is ignored.
        if (signal.aborted || parking.isOver) {
          return await new Promise(() => {});
        }
        attempt.attempts = ++attempts;
        if (attempts > retries) return await this.#fail(entry, attempt, thrown);
        const told = printThrown(thrown);
        const until = parking.after(
          Math.min(2 ** (attempts - 1), MAX_PAUSE_SECONDS),
        );
        await journal.save(entry, {
          ...attempt,
          error: told,
          state: "waiting",
          until,
        });
        await parking.waitUntil(until);
        continue;
      }
      return await this.#keep(entry, attempt, value);
    }
  }

  /**
   * Counts the tries of earlier runs, and waits until the next one is allowed.
   */
  async #attemptsBefore(
    entry: JournalEntry,
    { retries, isRepeatable }: StepRepetition,
  ): Promise<number> {
    const { claim, parking, interrupt } = this.journal.run;
    const { state, attempts = 0, until } = entry.known ?? {};
    if (state === "waiting") await parking.waitUntil(until!);
    if (state !== "begun") return attempts;
    if (!isRepeatable) {
      return await interrupt(
        fault(
          entry,
          "may have happened: its process has stopped in it, and it is not " +
            "repeated",
        ),
      );
    }
    // No process has died: the previous process shut down and released the run,
    // so its try does not count.
    if (claim.run.deaths === 0) return attempts;
    const died = attempts + 1;
    const most = retries > 0 ? retries : MAX_DEATHS;
    if (died <= most) return died;
    return await interrupt(
      fault(entry, `was tried ${died} times, and its process died in it`),
    );
  }

  /** Stores the result of a step, and returns it as later runs will get it. */
  async #keep<T>(entry: JournalEntry, attempt: Attempt, value: T): Promise<T> {
    const { journal } = this;
    let text: string | undefined;
    try {
      text = printKept(named(entry.id), value, journal.run.code().given);
      journal.checkRoom(entry, text);
    } catch (error) {
      return await this.#fail(entry, attempt, error);
    }
    const endedAt = journal.run.now();
    await journal.save(entry, { ...attempt, state: "kept", endedAt, text });
    this.#hasKept = true;
    return parseKept<T>(text);
  }

  async #fail(
    entry: JournalEntry,
    attempt: Attempt,
    thrown: unknown,
  ): Promise<never> {
    const { journal } = this;
    const endedAt = journal.run.now();
    const error = printThrown(thrown);
    await journal.save(entry, { ...attempt, state: "failed", endedAt, error });
    this.#hasKept = true;
    throw thrown;
  }

  async #call<T>(
    entry: JournalEntry,
    kept: Attempt,
    run: StepFunction<T>,
    attempt: number,
    isRepeatable: boolean,
  ): Promise<T> {
    const { journal, journal: { run: { claim, signal, parking } } } = this;
    let noted: Promise<unknown> | undefined;
    const noteOnce = () => {
      if (isRepeatable) return;
      kept.usesOnce = true;
      noted ??= journal.run.note(
        journal.stepOf(entry, { ...kept, state: "begun" }),
      );
    };
    const context: StepContext = {
      get once() {
        noteOnce();
        return fingerprint(JSON.stringify([claim.taskId, entry.id]));
      },
      attempt,
      signal,
    };
    return await parking.activity(async () => {
      try {
        return await run(context);
      } finally {
        // `usesOnce` must be stored before the step's result.
        await noted;
      }
    });
  }
}

/** Makes the error for a step that cannot be tried again. */
function fault({ id }: JournalEntry, what: string): RpcError {
  return new RpcError(RpcCode.internalError, `${stepTitle(id)} ${what}`);
}
