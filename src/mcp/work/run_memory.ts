/**
 * The memory of a run of durable work: the steps that earlier runs have kept,
 * and those that it keeps itself.
 *
 * @module
 */
import { persist } from "../../store/persist.ts";
import type { Hold } from "../../store/run_record.ts";
import type { Step } from "../../store/steps.ts";
import { MOST_CHARACTERS } from "./kept_value.ts";
import { Left, type RestSurroundings, RunRest } from "./run_rest.ts";
import { named, type StepCall } from "./step_order.ts";

export interface RunSurroundings extends RestSurroundings {
  hold: Hold;
  /** The steps of earlier runs. */
  steps: readonly Step[];
  /** The version of the tool's steps. */
  version: number;
  /** Stores a step; false if this process has lost its turn. */
  save(step: Step): Promise<boolean>;
  /** True if its caller may still do this. */
  isAllowed(): Promise<boolean>;
}

/** The permission of the caller has ended. */
export class Expelled extends Error {
  override name = "Expelled";
}

export class RunMemory {
  readonly rest: RunRest;
  readonly #steps: ReadonlyMap<string, Step>;
  #characters = 0;

  constructor(readonly around: RunSurroundings) {
    const { steps } = around;
    this.rest = new RunRest(around);
    this.#steps = new Map(steps.map((step) => [step.id, step]));
    for (const { text = "" } of steps) this.#characters += text.length;
  }

  /** Finds a step as earlier runs have left it. */
  find(id: string): Step | undefined {
    return this.#steps.get(id);
  }

  /** Makes the step of a call, as it begins. */
  stepOf({ id, number, isAlone }: StepCall): Step {
    const { version, now } = this.around;
    const startedAt = this.find(id)?.startedAt ?? now();
    return { id, place: number, version, isAlone, state: "begun", startedAt };
  }

  /** Looks before something is done: is it still wanted here? */
  async goOn(): Promise<void> {
    const { rest, around: { isAllowed, signal, cut } } = this;
    if (rest.isReleased) return await rest.never();
    const isMine = await rest.activity(() => persist(isAllowed, { signal }));
    if (!isMine) await cut(new Expelled());
  }

  async save(step: Step): Promise<void> {
    const { save, signal, cut } = this.around;
    const isSaved = await this.rest.activity(() =>
      persist(() => save(step), { signal })
    );
    if (!isSaved) return await cut(new Left());
    this.#characters += step.text?.length ?? 0;
  }

  /** @throws {RangeError} when the results of the task have no room for one more */
  checkRoom({ id }: StepCall, text = ""): void {
    if (this.#characters + text.length <= MOST_CHARACTERS) return;
    throw new RangeError(
      `The result of ${named(id)} cannot be kept: those of one task have at ` +
        `most ${MOST_CHARACTERS} characters together`,
    );
  }
}
