/**
 * The execution of a step: its function is called until it returns, or until
 * its tries are used up.
 *
 * @module
 */
import type { StepContext } from "../../authoring/durable.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { fingerprint } from "../../core/crypto/crypto.ts";
import { RpcCode, RpcError } from "../../core/errors.ts";
import type { Step } from "./steps.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { parseKept, printKept, printThrown } from "./kept_value.ts";
import { named, titled } from "./step_name.ts";

/** The longest pause between two tries. */
const MAX_PAUSE_SECONDS = 300;
/** The most deaths of processes during a step that has read `once`. */
const MAX_DEATHS = 10;

export type StepFunction<T> = (context: StepContext) => MaybePromise<T>;

/** The ways in which a step may be done more than once. */
export interface Repetition {
  /** The most repetitions after an exception. */
  retries: number;
  /** True if the step is done again after its process died during it. */
  isRepeatable: boolean;
}

/** The stored members of a step that has not ended. */
type Attempt = Pick<Step, "attempts" | "most" | "usesOnce">;

export class StepExecutor {
  #hasKept = false;

  constructor(private readonly journal: Journal) {}

  /** Does a step that has not ended in an earlier run, and stores its end. */
  async do<T>(
    entry: JournalEntry,
    run: StepFunction<T>,
    { retries, isRepeatable }: Repetition,
  ): Promise<T> {
    const { journal, journal: { run: { claim, signal, parking } } } = this;
    const usesOnce = entry.known?.usesOnce === true;
    isRepeatable ||= usesOnce;
    let attempts = await this.#attemptsBefore(entry, { retries, isRepeatable });
    for (;;) {
      await journal.run.goOn();
      const attempt: Attempt = {
        ...attempts > 0 && { attempts },
        ...retries > 0 && { most: retries + 1 },
        ...usesOnce && { usesOnce },
      };
      // A step that must not be repeated is noted before it happens, and so is
      // one that may be what kills its process again and again.
      if (!isRepeatable || claim.run.deaths > 0 && !this.#hasKept) {
        await journal.save(entry, { ...attempt, state: "begun" });
        await journal.run.holdOn();
      }
      let value: T;
      try {
        const number = attempts + 1;
        value = await this.#call(entry, attempt, run, number, isRepeatable);
      } catch (error) {
        const thrown = journal.run.code().clean(error);
        // An error after the end is of no interest.
        if (signal.aborted || parking.isOver) {
          return await new Promise(() => {});
        }
        attempt.attempts = ++attempts;
        if (attempts > retries) {
          return await this.#fail(entry, attempt, thrown);
        }
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

  /** Counts the tries of earlier runs, and waits for the time of the next. */
  async #attemptsBefore(
    entry: JournalEntry,
    { retries, isRepeatable }: Repetition,
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
    // Without deaths, the earlier process has stopped and left its run to
    // others.
    if (claim.run.deaths === 0) return attempts;
    const died = attempts + 1;
    const most = retries > 0 ? retries : MAX_DEATHS;
    if (died <= most) return died;
    return await interrupt(
      fault(entry, `was tried ${died} times, and its process died in it`),
    );
  }

  /** Stores the result of a step, and returns it as later runs will get it. */
  async #keep<T>(
    entry: JournalEntry,
    attempt: Attempt,
    value: T,
  ): Promise<T> {
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

  /** Stores the exception of a step, and throws it. */
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
        // The note must not come after the result.
        await noted;
      }
    });
  }
}

/** Makes the error of a step that cannot be tried again. */
function fault({ id }: JournalEntry, what: string): RpcError {
  return new RpcError(RpcCode.internalError, `${titled(id)} ${what}`);
}
