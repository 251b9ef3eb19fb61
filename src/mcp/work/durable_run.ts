/**
 * One run of durable work: steps that earlier runs have kept give their results
 * at once, the next ones are done and kept.
 *
 * @module
 */
import { pause } from "../../clock.ts";
import type { Durable } from "../../authoring/context.ts";
import type { StepContext, StepOptions } from "../../authoring/durable.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { fingerprint } from "../../crypto/crypto.ts";
import { persist } from "../../store/persist.ts";
import type { Step } from "../../store/steps.ts";
import type { Hold } from "../../store/run_record.ts";
import {
  MOST_CHARACTERS,
  parseKept,
  printKept,
  printThrown,
  thrownAgain,
} from "./kept_value.ts";
import {
  checkName,
  hasDied,
  mayHaveHappened,
  MOST_STEPS,
  tooLong,
  tooMany,
} from "./step_faults.ts";
import { named, type StepCall, StepOrder } from "./step_order.ts";

/** A wait that is not much longer is waited for in the process. */
const SHORT_SECONDS = 5;
/** The time without work after which a run that waits leaves its process. */
const QUIET_MILLISECONDS = 200;
/** The longest pause between two tries. */
const LONGEST_PAUSE_SECONDS = 300;
/** The times that a process may die in a step that has read `once`. */
const MOST_DEATHS = 10;
/** The longest time of one timer. */
const TIMER_MILLISECONDS = 24 * 60 * 60 * 1000;

/** The surroundings of a run. */
export interface RunSurroundings {
  hold: Hold;
  /** The steps of earlier runs. */
  steps: readonly Step[];
  /** The version of the tool's steps. */
  version: number;
  signal: AbortSignal;
  /** Epoch seconds. */
  now(): number;
  /** Stores a step; false if this process has lost its turn. */
  save(step: Step): Promise<boolean>;
  /** Leaves the run to others, unless a question has its answer by now. */
  park(
    dueSeconds: number | undefined,
    questions: readonly string[],
  ): Promise<"parked" | "answered" | "lost">;
  /** True if its caller may still do this. */
  isAllowed(): Promise<boolean>;
  /** Ends the author's code with a reason, in the middle. */
  cut(reason: unknown): Promise<never>;
}

/** The run has left its process: its end is not the end of the task. */
export class Left extends Error {
  override name = "Left";
}

/** The permission of the caller has ended. */
export class Expelled extends Error {
  override name = "Expelled";
}

/** A wait that needs no process. */
interface Waiting {
  /** Epoch seconds; undefined: until an answer is there. */
  until?: number;
  question?: string;
}

/** One run of durable work. */
export class DurableRun implements Durable {
  readonly #around: RunSurroundings;
  readonly #order: StepOrder;
  readonly #steps: ReadonlyMap<string, Step>;
  readonly #waiting = new Set<Waiting>();
  #characters = 0;
  /** Functions of steps, and what is being stored. */
  #active = 0;
  #hasKept = false;
  #isReleased = false;
  #isOver = false;
  /** Ends the pauses of this process, for another look at the clock. */
  #rechecked = new AbortController();
  #quiet?: ReturnType<typeof setTimeout>;

  constructor(around: RunSurroundings) {
    const { steps, version } = around;
    this.#around = around;
    this.#order = new StepOrder(steps, version);
    this.#steps = new Map(steps.map((step) => [step.id, step]));
    for (const { text = "" } of steps) this.#characters += text.length;
  }

  /** True as long as the run repeats what earlier ones did. */
  get isReplay(): boolean {
    return this.#order.isReplay;
  }

  /**
   * The end of the wait that is all that happens here; undefined while anything
   * else does, and before a wait for which the run leaves its process.
   */
  get restsUntil(): number | undefined {
    if (this.#active > 0 || this.#waiting.size === 0) return undefined;
    const until = this.#nextUntil;
    const now = this.#around.now();
    return until > now && until <= now + SHORT_SECONDS ? until : undefined;
  }

  /** The first end of a wait; infinite if answers are all that it waits for. */
  get #nextUntil(): number {
    const untils = [...this.#waiting].map(({ until = Infinity }) => until);
    return Math.min(...untils);
  }

  /** Looks at the clock again, which has jumped. */
  recheck(): void {
    this.#rechecked.abort();
    this.#rechecked = new AbortController();
    this.#lookWhetherQuiet();
  }

  step<T>(
    id: string,
    run: (context: StepContext) => MaybePromise<T>,
    { retries = 0 }: StepOptions = {},
  ): Promise<T> {
    const where = new Error();
    return this.#within("step", id, where, async (call, known) => {
      if (known?.state === "kept") return parseKept<T>(known.text);
      if (known?.state === "failed") throw thrownAgain(known.error!);
      return await this.#try(call, known, run, retries);
    });
  }

  sleep(id: string, until: number | Date): Promise<void> {
    const where = new Error();
    return this.#within("sleep", id, where, async (call, known) => {
      const end = known?.until ?? this.#endOf(id, until);
      if (!known) {
        await this.#goOn();
        await this.#save({ ...this.#stepOf(call), state: "kept", until: end });
      }
      await this.#waitUntil(end);
    });
  }

  /**
   * Asks a question once: its answer is kept as a step is.
   *
   * @param ask opens it and hands its answer, as JSON, to be kept
   */
  question<T>(
    id: string,
    ask: (keep: (answer: string) => Promise<void>) => Promise<unknown>,
  ): Promise<T> {
    const where = new Error();
    return this.#within("ask", id, where, async (call, known) => {
      if (known?.state === "kept") return parseKept<T>(known.text);
      await this.#goOn();
      let text: string | undefined;
      await this.#wait({ question: id }, () =>
        ask(async (answer) => {
          await this.#save({
            ...this.#stepOf(call),
            state: "kept",
            text: answer,
          });
          text = answer;
        }));
      return parseKept<T>(text);
    });
  }

  /** Checks a run that has given its result. @throws what is wrong with it */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#quiet);
    this.#order.checkEnd();
  }

  /** Notes that the run has ended without a result. */
  drop(): void {
    this.#isOver = true;
    clearTimeout(this.#quiet);
  }

  /** Leaves the process as soon as nothing is at work. */
  release(): void {
    this.#isReleased = true;
    if (this.#active === 0 && this.#waiting.size > 0) this.#leave();
  }

  /** Leads a step, a sleep or a question from its call to its end. */
  #within<T>(
    kind: "step" | "sleep" | "ask",
    name: string,
    where: Error,
    work: (call: StepCall, known: Step | undefined) => Promise<T>,
  ): Promise<T> {
    // Nothing that a run does after its end is wanted.
    if (this.#isOver) return new Promise(() => {});
    let call: StepCall;
    try {
      checkName(name);
      call = this.#order.call(`${kind}:${name}`, where);
      if (call.number > MOST_STEPS) throw tooMany(call);
    } catch (error) {
      return this.#fail(error);
    }
    return this.#lead(call, work);
  }

  async #lead<T>(
    call: StepCall,
    work: (call: StepCall, known: Step | undefined) => Promise<T>,
  ): Promise<T> {
    const known = this.#steps.get(call.id);
    const { version, signal } = this.#around;
    const place = known?.version === version ? known.place : undefined;
    try {
      await this.#order.wait(call, place, signal);
    } catch (error) {
      return await this.#fail(error);
    }
    try {
      return await work(call, known);
    } finally {
      this.#order.end(call);
    }
  }

  async #try<T>(
    call: StepCall,
    known: Step | undefined,
    run: (context: StepContext) => MaybePromise<T>,
    retries: number,
  ): Promise<T> {
    const { hold, now, signal } = this.#around;
    const isRepeatable = retries > 0 || known?.usesOnce === true;
    if (known?.state === "begun" && !isRepeatable) {
      return await this.#fail(mayHaveHappened(call));
    }
    let attempts = known?.attempts ?? 0;
    if (known?.state === "waiting") await this.#waitUntil(known.until!);
    else if (isRepeatable && !this.#hasKept) {
      attempts += hold.run.deaths;
      const most = retries > 0 ? retries : MOST_DEATHS;
      if (attempts > most) return await this.#fail(hasDied(call, attempts));
    }
    for (;;) {
      await this.#goOn();
      const step: Step = {
        ...this.#stepOf(call),
        ...attempts > 0 && { attempts },
        ...retries > 0 && { most: retries + 1 },
        ...known?.usesOnce && { usesOnce: true },
      };
      // A step that must not be repeated is noted before it happens.
      if (!isRepeatable) await this.#save(step);
      let value: T;
      try {
        value = await this.#do(step, run, attempts + 1, isRepeatable);
      } catch (thrown) {
        // An error after the end is of no interest.
        if (signal.aborted || this.#isOver) return await new Promise(() => {});
        const error = printThrown(thrown);
        const failed: Step = { ...step, attempts: ++attempts, error };
        if (attempts > retries) return await this.#throw(failed, thrown);
        const until = now() +
          Math.min(2 ** (attempts - 1), LONGEST_PAUSE_SECONDS);
        await this.#save({ ...failed, state: "waiting", until });
        await this.#waitUntil(until);
        continue;
      }
      let text: string | undefined;
      try {
        text = printKept(named(call.id), value);
        this.#checkRoom(call, text);
      } catch (fault) {
        const failed = { ...step, error: printThrown(fault) };
        return await this.#throw(failed, fault);
      }
      await this.#save({ ...step, state: "kept", endedAt: now(), text });
      this.#hasKept = true;
      return parseKept<T>(text);
    }
  }

  /** Keeps what a step has thrown, and throws it. */
  async #throw(step: Step, thrown: unknown): Promise<never> {
    await this.#save({
      ...step,
      state: "failed",
      endedAt: this.#around.now(),
    });
    this.#hasKept = true;
    throw thrown;
  }

  /** Calls the function of a step. */
  async #do<T>(
    step: Step,
    run: (context: StepContext) => MaybePromise<T>,
    attempt: number,
    isRepeatable: boolean,
  ): Promise<T> {
    const { hold: { taskId }, signal, save } = this.#around;
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
    return await this.#activity(async () => {
      try {
        return await run(context);
      } finally {
        // The note must not come after the result.
        await noted;
      }
    });
  }

  /** @throws {RangeError} when the results of the task have no room for one more */
  #checkRoom(call: StepCall, text = ""): void {
    if (this.#characters + text.length <= MOST_CHARACTERS) return;
    throw tooLong(call);
  }

  /** Looks before something is done: is it still wanted here? */
  async #goOn(): Promise<void> {
    const { isAllowed, signal, cut } = this.#around;
    if (this.#isReleased) return await this.#never();
    const isMine = await this.#activity(() => persist(isAllowed, { signal }));
    if (!isMine) await cut(new Expelled());
  }

  async #save(step: Step): Promise<void> {
    const { save, signal, cut } = this.#around;
    const isSaved = await this.#activity(() =>
      persist(() => save(step), { signal })
    );
    if (!isSaved) return await cut(new Left());
    this.#characters += step.text?.length ?? 0;
  }

  #stepOf({ id, number, isAlone }: StepCall): Step {
    const { version, now } = this.#around;
    const startedAt = this.#steps.get(id)?.startedAt ?? now();
    return {
      id,
      place: number,
      version,
      isAlone,
      state: "begun",
      startedAt,
    };
  }

  async #waitUntil(until: number): Promise<void> {
    const { signal, now } = this.#around;
    await this.#wait({ until }, async () => {
      for (let left = until - now(); left > 0; left = until - now()) {
        await pause(
          Math.min(left * 1000, TIMER_MILLISECONDS),
          AbortSignal.any([signal, this.#rechecked.signal]),
        );
        if (signal.aborted) return await new Promise(() => {});
      }
    });
  }

  async #wait(waiting: Waiting, work: () => Promise<unknown>): Promise<void> {
    if (waiting.until !== undefined && waiting.until <= this.#around.now()) {
      return;
    }
    this.#waiting.add(waiting);
    this.#lookWhetherQuiet();
    try {
      await work();
    } finally {
      this.#waiting.delete(waiting);
    }
  }

  async #activity<T>(work: () => Promise<T>): Promise<T> {
    this.#active++;
    try {
      return await work();
    } finally {
      this.#active--;
      this.#lookWhetherQuiet();
    }
  }

  /** Leaves the process if nothing happens here for a long time. */
  #lookWhetherQuiet(): void {
    clearTimeout(this.#quiet);
    if (this.#isOver || this.#active > 0) return;
    if (this.#isReleased) return this.#leave();
    const soon = this.#around.now() + SHORT_SECONDS;
    const isQuiet = this.#waiting.size > 0 && this.#nextUntil > soon;
    if (!isQuiet) return;
    this.#quiet = setTimeout(() => this.#leave(), QUIET_MILLISECONDS);
  }

  #leave(): void {
    const { park, now, cut } = this.#around;
    if (this.#isOver || this.#active > 0) return;
    const waiting = [...this.#waiting];
    const questions = waiting.flatMap(({ question }) => question ?? []);
    const untils = waiting.flatMap(({ until }) => until ?? []);
    const dueSeconds = this.#isReleased
      ? now()
      : untils.length > 0
      ? Math.min(...untils)
      : undefined;
    park(dueSeconds, this.#isReleased ? [] : questions).then(
      (parked) => {
        if (parked !== "answered") return void cut(new Left());
        // Or its question was not there yet: the run leaves a while later.
        this.#lookWhetherQuiet();
      },
      // The database is away: the run goes on, and leaves later.
      () => {
        if (this.#isOver) return;
        clearTimeout(this.#quiet);
        this.#quiet = setTimeout(
          () => this.#lookWhetherQuiet(),
          QUIET_MILLISECONDS,
        );
      },
    );
  }

  #endOf(id: string, until: number | Date): number {
    const { now, hold: { expiresAt } } = this.#around;
    const end = until instanceof Date
      ? Math.ceil(until.getTime() / 1000)
      : now() + Math.ceil(until);
    if (end < expiresAt) return end;
    throw new RangeError(
      `${
        named(`sleep:${id}`)
      } must be a number of seconds or a Date, and end ` +
        "within the 90 days of its task",
    );
  }

  /** Ends the run with an error that its code cannot catch. */
  async #fail(error: unknown): Promise<never> {
    return await this.#around.cut(error);
  }

  /** Waits for the process to be left. */
  async #never(): Promise<never> {
    this.#lookWhetherQuiet();
    return await new Promise(() => {});
  }
}
