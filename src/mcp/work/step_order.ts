/**
 * The order of the steps of durable work. In a replay it must be the order of
 * the runs before: another one means that the code has changed, and its results
 * would be those of other steps.
 *
 * @module
 */
import { pause } from "../../clock.ts";
import type { Step } from "../../store/steps.ts";
import { checkName, named, titled } from "./step_name.ts";

/**
 * The time for which a step waits for one that was before it: branches that run
 * side by side may be slow in between.
 */
const PATIENCE_MILLISECONDS = 5000;

/** The most steps, sleeps and questions of one task. */
export const MOST_STEPS = 1000;

type StepKind = "step" | "sleep" | "ask";

/** A question as the journal compares it. */
export interface AskedQuestion {
  /** SHA-256 of everything that is asked. */
  fingerprint: string;
  /** The beginning of its text. */
  text: string;
  /** True if a person answers it, false if the client itself does. */
  isForPerson: boolean;
}

/** A step, sleep or question as its author's code asks for it. */
export interface StepCall {
  id: string;
  /** Its number among all calls of this run, from 1 on. */
  number: number;
  /** True if no other was under way. */
  isAlone: boolean;
  /** Of a question: the beginning of its text. */
  asks?: string;
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
   * @param question of a question: its text, and the fingerprint of all of it
   * @throws {TypeError} when its ID is no text, or was there before
   * @throws {RangeError} when it is one more than a task may have
   */
  call(
    kind: StepKind,
    name: string,
    where: Error,
    question?: AskedQuestion,
  ): StepCall {
    checkName(name);
    const id = question
      ? this.#questionId(`ask:${name}#${question.fingerprint}`, question, where)
      : `${kind}:${name}`;
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
    const call = { id, number, isAlone, asks: question?.text, where };
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

  /**
   * Makes the ID of a question. The same question asked once more is another
   * one, as in a loop.
   *
   * @throws {TypeError} while the same question of a person is open: no one could
   * tell which of the two an answer is for
   */
  #questionId(
    first: string,
    { text, isForPerson }: AskedQuestion,
    where: Error,
  ) {
    let id = first;
    for (let n = 2; this.#calls.has(id); n++) {
      const before = this.#calls.get(id)!;
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
        named(missing.id, missing.asks)
      }, which was number ${missing.number}, ` +
        `is not there any more. ${ADVICE}`,
    );
  }

  get #isSequential(): boolean {
    return this.#open.size === 1 && this.#before.every((step) => step.isAlone);
  }

  #divergence({ id, number, asks, where }: StepCall, before: Step) {
    return new DivergenceError(
      `The work has changed: number ${before.number} was ${
        named(before.id, before.asks)
      }, ` +
        `and ${named(id, asks)} is number ${number}${
          placeOf(where)
        }. ${ADVICE}`,
    );
  }
}

const ADVICE = "Put it back, or raise the version of the tool's task";

/** Gives the line of the author's code, if the stack tells one. */
function placeOf({ stack = "" }: Error): string {
  const line = stack.split("\n").slice(1)
    .find((line) =>
      !line.includes("/src/mcp/work/") && !line.includes("/src/mcp/exchange/")
    );
  return line === undefined ? "" : ` ${line.trim()}`;
}
