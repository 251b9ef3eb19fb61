/**
 * The tries of a step: its function is called until it gives a result, or as
 * often as it may be.
 *
 * @module
 */
import type { StepContext } from "../../authoring/durable.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { RpcCode, RpcError } from "../../errors.ts";
import type { Step } from "../../store/steps.ts";
import {
  parseKept,
  printKept,
  printThrown,
  type RunMemory,
} from "./run_memory.ts";
import { named, titled } from "./step_name.ts";
import type { StepCall } from "./step_order.ts";

/** The longest pause between two tries. */
const LONGEST_PAUSE_SECONDS = 300;
/** The times that a process may die in a step that has read `once`. */
const MOST_DEATHS = 10;

export type StepFunction<T> = (context: StepContext) => MaybePromise<T>;

/** The ways in which a step may be done more than once. */
export interface Trying {
  /** The most repetitions after an exception. */
  retries: number;
  /** True if it is done again when its process has died in it. */
  isRepeatable: boolean;
}

export class StepTries {
  #hasKept = false;

  constructor(private readonly memory: RunMemory) {}

  /**
   * Does a step, and keeps what it gives or throws.
   *
   * @param known the step as an earlier run has left it, without an end
   */
  async do<T>(
    call: StepCall,
    known: Step | undefined,
    run: StepFunction<T>,
    { retries, isRepeatable }: Trying,
  ): Promise<T> {
    const { memory, memory: { rest, around: { claim, now, signal } } } = this;
    isRepeatable ||= known?.usesOnce === true;
    const trying = { retries, isRepeatable };
    let attempts = await this.#attemptsBefore(call, known, trying);
    for (;;) {
      await memory.goOn();
      const step: Step = {
        ...memory.stepOf(call),
        ...attempts > 0 && { attempts },
        ...retries > 0 && { most: retries + 1 },
        ...known?.usesOnce && { usesOnce: true },
      };
      // A step that must not be repeated is noted before it happens, and so is
      // one that may be what kills its process again and again.
      if (!isRepeatable || claim.run.deaths > 0 && !this.#hasKept) {
        await memory.save(step);
      }
      let value: T;
      try {
        value = await this.#call(step, run, attempts + 1, isRepeatable);
      } catch (thrown) {
        // An error after the end is of no interest.
        if (signal.aborted || rest.isOver) return await new Promise(() => {});
        const error = printThrown(thrown);
        const failed: Step = { ...step, attempts: ++attempts, error };
        if (attempts > retries) return await this.#fail(failed, thrown);
        const until = now() +
          Math.min(2 ** (attempts - 1), LONGEST_PAUSE_SECONDS);
        await memory.save({ ...failed, state: "waiting", until });
        await rest.waitUntil(until);
        continue;
      }
      return await this.#keep(call, step, value);
    }
  }

  /** Counts the tries of earlier runs, and waits for the time of the next. */
  async #attemptsBefore(
    call: StepCall,
    known: Step | undefined,
    { retries, isRepeatable }: Trying,
  ): Promise<number> {
    const { rest, around: { claim, interrupt } } = this.memory;
    const { state, attempts = 0 } = known ?? {};
    if (state === "waiting") await rest.waitUntil(known!.until!);
    if (state !== "begun") return attempts;
    if (!isRepeatable) {
      return await interrupt(
        fault(
          call,
          "may have happened: its process has stopped in it, and it is not " +
            "repeated",
        ),
      );
    }
    // A process that stops leaves its run to others, and has not died.
    if (claim.run.deaths === 0) return attempts;
    const died = attempts + 1;
    const most = retries > 0 ? retries : MOST_DEATHS;
    if (died <= most) return died;
    return await interrupt(
      fault(call, `was tried ${died} times, and its process died in it`),
    );
  }

  /** Keeps what a step has given, and gives it as later runs will. */
  async #keep<T>(call: StepCall, step: Step, value: T): Promise<T> {
    const { memory, memory: { around: { now } } } = this;
    let text: string | undefined;
    try {
      text = printKept(named(call.id), value);
      memory.checkRoom(call, text);
    } catch (error) {
      return await this.#fail({ ...step, error: printThrown(error) }, error);
    }
    await memory.save({ ...step, state: "kept", endedAt: now(), text });
    this.#hasKept = true;
    return parseKept<T>(text);
  }

  /** Keeps what a step has thrown, and throws it. */
  async #fail(step: Step, thrown: unknown): Promise<never> {
    const endedAt = this.memory.around.now();
    await this.memory.save({ ...step, state: "failed", endedAt });
    this.#hasKept = true;
    throw thrown;
  }

  /** Calls the function of a step. */
  async #call<T>(
    step: Step,
    run: StepFunction<T>,
    attempt: number,
    isRepeatable: boolean,
  ): Promise<T> {
    const { rest, around: { claim: { taskId }, signal, save } } = this.memory;
    let noted: Promise<unknown> | undefined;
    const noteOnce = () => {
      if (isRepeatable) return;
      step.usesOnce = true;
      noted ??= save({ ...step }).catch(() => {});
    };
    const context: StepContext = {
      get once() {
        noteOnce();
        return fingerprint(JSON.stringify([taskId, step.id]));
      },
      attempt,
      signal,
    };
    return await rest.activity(async () => {
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
function fault({ id }: StepCall, what: string): RpcError {
  return new RpcError(RpcCode.internalError, `${titled(id)} ${what}`);
}
