/**
 * One run of durable work: steps that earlier runs have kept give their results
 * at once, the next ones are done and kept.
 *
 * @module
 */
import type { Durable } from "../../authoring/context.ts";
import type { StepOptions } from "../../authoring/durable.ts";
import type { Step } from "../../store/steps.ts";
import {
  parseKept,
  RunMemory,
  type RunSurroundings,
  thrownAgain,
} from "./run_memory.ts";
import type { Parking } from "./parking.ts";
import { type AskedQuestion, type StepCall, StepOrder } from "./step_order.ts";
import { titled } from "./step_name.ts";
import { type StepFunction, StepTries, type Trying } from "./step_tries.ts";

export class DurableRun implements Durable {
  readonly #around: RunSurroundings;
  readonly #order: StepOrder;
  readonly #memory: RunMemory;
  readonly #tries: StepTries;
  /** The keys of its questions, in earlier runs and in this one. */
  readonly #keys: Set<string>;

  constructor(around: RunSurroundings) {
    this.#around = around;
    this.#order = new StepOrder(around.steps, around.version);
    this.#memory = new RunMemory(around);
    this.#tries = new StepTries(this.#memory);
    this.#keys = new Set(around.steps.flatMap(({ key }) => key ?? []));
  }

  get rest(): Parking {
    return this.#memory.rest;
  }

  /** True as long as the run repeats what earlier ones did. */
  get isReplay(): boolean {
    return this.#order.isReplay;
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

  #step<T>(id: string, run: StepFunction<T>, how: Trying): Promise<T> {
    const where = new Error();
    return this.#within("step", id, where, async (call, known) => {
      if (known?.state === "kept") return parseKept<T>(known.text);
      if (known?.state === "failed") throw thrownAgain(known.error!);
      return await this.#tries.do(call, known, run, how);
    });
  }

  hasKept(id: string): boolean {
    return this.#memory.steps.get(`step:${id}`)?.state === "kept";
  }

  /** @param how as of {@linkcode Parking.waitUntil} */
  sleep(
    id: string,
    until: number | Date,
    how?: Parameters<Parking["waitUntil"]>[1],
  ): Promise<void> {
    const where = new Error();
    const memory = this.#memory;
    return this.#within("sleep", id, where, async (call, known) => {
      const end = known?.until ?? this.#endOf(id, until);
      if (!known) {
        await memory.goOn();
        await memory.save({
          ...memory.stepOf(call),
          state: "kept",
          until: end,
        });
      }
      await this.rest.waitUntil(end, how);
    });
  }

  /**
   * Asks a question once: its answer is kept as a step is, and is given only to
   * a question of the same name that asks the same.
   *
   * @param ask opens it under its key, the same in every run, and hands its
   * answer, as JSON, to be kept
   * @param waiting how it rests; by default until the answer, with no process
   */
  question<T>(
    name: string,
    question: AskedQuestion,
    ask: (
      key: string,
      keep: (answer: string) => Promise<void>,
    ) => Promise<unknown>,
    waiting?: Parameters<Parking["wait"]>[0],
  ): Promise<T> {
    const where = new Error();
    const memory = this.#memory;
    return this.#within("ask", name, where, async (call, known) => {
      if (known?.state === "kept") return parseKept<T>(known.text);
      await memory.goOn();
      const key = known?.key ?? this.#unusedKey(name);
      const step = { ...memory.stepOf(call), key, asks: call.asks };
      // Another run finds the key by what is asked.
      if (!known) await memory.save(step);
      let text: string | undefined;
      await this.rest.wait(
        waiting ?? { question: key },
        () =>
          ask(key, async (answer) => {
            await memory.save({ ...step, state: "kept", text: answer });
            text = answer;
          }),
      );
      return parseKept<T>(text);
    }, question);
  }

  /** Makes a key that no other question of the task has had. */
  #unusedKey(name: string): string {
    let key = name;
    for (let n = 1; this.#keys.has(key); n++) key = `${name}-${n}`;
    this.#keys.add(key);
    return key;
  }

  /** Ends a run that has its result. @throws as {@linkcode StepOrder.checkEnd} */
  end(): void {
    this.rest.end();
    this.#order.checkEnd();
  }

  /** Does a step, a sleep or a question in its order; none after the run's end. */
  #within<T>(
    kind: "step" | "sleep" | "ask",
    name: string,
    where: Error,
    work: (call: StepCall, known: Step | undefined) => Promise<T>,
    question?: AskedQuestion,
  ): Promise<T> {
    // Nothing that a run does after its end is wanted.
    if (this.rest.isOver) return new Promise(() => {});
    let call: StepCall;
    try {
      call = this.#order.call(kind, name, where, question);
    } catch (error) {
      return this.#around.interrupt(error);
    }
    return this.#lead(call, work);
  }

  async #lead<T>(
    call: StepCall,
    work: (call: StepCall, known: Step | undefined) => Promise<T>,
  ): Promise<T> {
    const known = this.#memory.steps.get(call.id);
    const { version, signal, interrupt } = this.#around;
    const number = known?.version === version ? known.number : undefined;
    try {
      await this.#order.wait(call, number, signal);
    } catch (error) {
      // Its code cannot catch this.
      return await interrupt(error);
    }
    try {
      return await work(call, known);
    } finally {
      this.#order.end(call);
    }
  }

  #endOf(id: string, until: number | Date): number {
    const { now, claim: { expiresAt } } = this.#around;
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
