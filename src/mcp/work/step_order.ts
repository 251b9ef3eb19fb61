/**
 * The order of the steps of durable work. In a replay it must be the order of
 * the runs before: another one means that the code has changed, and its results
 * would be those of other steps.
 *
 * @module
 */
import { pause } from "../../clock.ts";
import type { Step } from "../../store/steps.ts";

/**
 * The time for which a step waits for one that was before it: branches that run
 * side by side may be slow in between.
 */
const PATIENCE_MILLISECONDS = 5000;

/** The most steps, sleeps and questions of one task. */
export const MOST_STEPS = 1000;
/** The most characters of an ID. */
const ID_CHARACTERS = 200;

/** A step, sleep or question as its author's code asks for it. */
export interface StepCall {
  id: string;
  /** Its number among all calls of this run, from 1 on. */
  number: number;
  /** True if no other was under way. */
  isAlone: boolean;
  /** The place in the code, printed only for an error. */
  where: Error;
}

/** The code of an author has changed while its work was under way. */
export class DivergenceError extends Error {
  override name = "DivergenceError";
}

export class StepOrder {
  readonly #calls = new Map<string, StepCall>();
  /** Calls that have not ended. */
  readonly #open = new Set<StepCall>();
  /** The steps of this version that earlier runs began, by their number. */
  readonly #before: readonly Step[];
  #next = 0;
  #called = Promise.withResolvers<void>();

  constructor(steps: Iterable<Step>, version: number) {
    this.#before = [...steps].filter((step) => step.version === version);
  }

  /** True as long as steps of earlier runs are still to come. */
  get isReplay(): boolean {
    return this.#missing !== undefined;
  }

  /** The first step of earlier runs that was not asked for yet. */
  get #missing(): Step | undefined {
    return this.#before[this.#next];
  }

  /**
   * Notes that a step is asked for.
   *
   * @throws {TypeError} when its ID is no text, or was there before
   * @throws {RangeError} when it is one more than a task may have
   */
  call(
    kind: "step" | "sleep" | "ask",
    name: string,
    where: Error,
  ): StepCall {
    checkName(name);
    const id = `${kind}:${name}`;
    const before = this.#calls.get(id);
    if (before) {
      throw new TypeError(
        `${titled(id)} is there twice${placeOf(before.where)} and${
          placeOf(where)
        }: give a loop's steps a counter`,
      );
    }
    const isAlone = this.#open.size === 0;
    const number = this.#calls.size + 1;
    const call = { id, number, isAlone, where };
    this.#calls.set(id, call);
    this.#open.add(call);
    while (this.#missing && this.#calls.has(this.#missing.id)) this.#next++;
    this.#called.resolve();
    this.#called = Promise.withResolvers();
    if (number > MOST_STEPS) {
      throw new RangeError(
        `${titled(id)} is one too many: a task has at most ${MOST_STEPS}`,
      );
    }
    return call;
  }

  end(call: StepCall): void {
    this.#open.delete(call);
  }

  /**
   * Waits until every step has been asked for that was before this one.
   *
   * @param number its number in earlier runs; undefined: it is new
   * @throws {DivergenceError}
   */
  async wait(
    call: StepCall,
    number: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (!this.#missing) return;
    const patience = new AbortController();
    const ending = AbortSignal.any([signal, patience.signal]);
    let over: Promise<"over"> | undefined;
    try {
      for (;;) {
        const missing = this.#missing;
        if (!missing || missing.number > (number ?? call.number)) return;
        if (this.#isSequential) throw this.#divergence(call, missing);
        over ??= pause(PATIENCE_MILLISECONDS, ending).then(() => "over");
        const called = this.#called.promise;
        if (await Promise.race([called, over]) === "over") {
          throw this.#divergence(call, missing);
        }
      }
    } finally {
      patience.abort();
    }
  }

  /**
   * Checks that a run with a result has called every earlier step, and awaited
   * all of them. A sleep or a question may be left open, as a time limit.
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
    const missing = this.#missing;
    if (!missing) return;
    throw new DivergenceError(
      `The work has changed: ${
        named(missing.id)
      }, which was number ${missing.number}, ` +
        `is not there any more. ${ADVICE}`,
    );
  }

  get #isSequential(): boolean {
    return this.#open.size === 1 && this.#before.every((step) => step.isAlone);
  }

  #divergence({ id, number, where }: StepCall, before: Step) {
    return new DivergenceError(
      `The work has changed: number ${before.number} was ${
        named(before.id)
      }, ` +
        `and ${named(id)} is number ${number}${placeOf(where)}. ${ADVICE}`,
    );
  }
}

const ADVICE = "Put it back, or raise the version of the tool's task";

/** Names a step for its author. */
export function named(id: string): string {
  return `${KINDS[id.slice(0, id.indexOf(":"))]} "${stepName(id)}"`;
}

/** Names a step at the beginning of a sentence. */
export function titled(id: string): string {
  const name = named(id);
  return name[0].toUpperCase() + name.slice(1);
}

/** Gives the name that the author chose, without its kind. */
export function stepName(id: string): string {
  return id.slice(id.indexOf(":") + 1);
}

const KINDS: Readonly<Record<string, string>> = {
  step: "the step",
  sleep: "the sleep",
  ask: "the question",
};

/** @throws {TypeError} unless an author's code gives a step an ID */
function checkName(name: unknown): void {
  if (typeof name === "string" && name !== "" && name.length <= ID_CHARACTERS) {
    return;
  }
  throw new TypeError(
    `The ID of a step must be a text of 1 to ${ID_CHARACTERS} characters`,
  );
}

/** Gives the line of the author's code, if the stack tells one. */
function placeOf({ stack = "" }: Error): string {
  const line = stack.split("\n").slice(1)
    .find((line) =>
      !line.includes("/src/mcp/work/") && !line.includes("/src/mcp/exchange/")
    );
  return line === undefined ? "" : ` ${line.trim()}`;
}
