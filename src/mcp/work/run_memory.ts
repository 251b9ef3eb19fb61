/**
 * The memory of a run of durable work: the steps that earlier runs have kept,
 * those that it keeps itself, and their values: JSON, checked where it is made.
 *
 * @module
 */
import { persist } from "../../store/persist.ts";
import type { Claim } from "../../store/run_record.ts";
import type { Step } from "../../store/steps.ts";
import { Parked, type Parking } from "./parking.ts";
import { named } from "./step_name.ts";
import type { StepCall } from "./step_order.ts";
import { errorNameOf, isError, messageOf } from "../../thrown.ts";
import { ToolError } from "../../authoring/tool.ts";

export interface RunSurroundings {
  signal: AbortSignal;
  parking: Parking;
  /** Epoch seconds. */
  now(): number;
  /** Ends the author's code with a reason, in the middle. */
  interrupt(reason: unknown): Promise<never>;
  claim: Claim;
  /** The steps of earlier runs. */
  steps: readonly Step[];
  /** The version of the tool's steps. */
  version: number;
  /** Stores a step; false if this process has lost its claim. */
  save(step: Step): Promise<boolean>;
  /** True if its caller may still do this. */
  isAllowed(): Promise<boolean>;
}

/** The permission of the caller has ended. */
export class Expelled extends Error {
  override name = "Expelled";
}

export class RunMemory {
  readonly rest: Parking;
  /** The steps as earlier runs have left them. */
  readonly steps: ReadonlyMap<string, Step>;
  #characters = 0;

  constructor(readonly around: RunSurroundings) {
    const { steps } = around;
    this.rest = around.parking;
    this.steps = new Map(steps.map((step) => [step.id, step]));
    for (const { text = "" } of steps) this.#characters += text.length;
  }

  /** Makes the step of a call, as it begins. */
  stepOf({ id, number, isAlone }: StepCall): Step {
    const { version, now } = this.around;
    const startedAt = this.steps.get(id)?.startedAt ?? now();
    return { id, number, version, isAlone, state: "begun", startedAt };
  }

  /** Lets work go on only in this process, and only if its caller still may. */
  async goOn(): Promise<void> {
    const { rest, around: { isAllowed, signal, interrupt } } = this;
    if (rest.isReleased) return await rest.never();
    const isMine = await rest.activity(() => persist(isAllowed, { signal }));
    if (!isMine) await interrupt(new Expelled());
  }

  async save(step: Step): Promise<void> {
    const { save, signal, interrupt } = this.around;
    const isSaved = await this.rest.activity(() =>
      persist(() => save(step), { signal })
    );
    if (!isSaved) return await interrupt(new Parked());
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

/** The most characters that the results of one task have together. */
export const MOST_CHARACTERS = 4 * 1024 * 1024;

/**
 * Prints what a step gave as JSON; undefined for undefined.
 *
 * @throws {TypeError} with the step's name, for what JSON cannot hold
 */
export function printKept(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const refuse = (what: string, cause?: unknown) => {
    throw new TypeError(`The result of ${name} cannot be kept: ${what}`, {
      cause,
    });
  };
  let text: string | undefined;
  try {
    text = JSON.stringify(value, (key, member) => {
      const where = key === "" ? "it" : `its member ${key}`;
      if (typeof member === "function") refuse(`${where} is a function`);
      if (typeof member === "symbol") refuse(`${where} is a symbol`);
      if (member instanceof Map || member instanceof Set) {
        refuse(`${where} is a ${member.constructor.name}`);
      }
      return member;
    });
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith("The result")) {
      throw error;
    }
    return refuse("it is no JSON", error);
  }
  if (text === undefined) return refuse("it is no JSON");
  return text;
}

export function parseKept<T>(text: string | undefined): T {
  return (text === undefined ? undefined : JSON.parse(text)) as T;
}

/** The most characters of a message that is kept. */
const MESSAGE_CHARACTERS = 1000;

export function printThrown(thrown: unknown): Step["error"] {
  if (!isError(thrown)) {
    return { name: "Error", message: "The step threw what is no error" };
  }
  return {
    name: (errorNameOf(thrown) ?? "Error").slice(0, 100),
    message: messageOf(thrown).slice(0, MESSAGE_CHARACTERS).toWellFormed(),
  };
}

/** Makes the error again that a step has thrown in an earlier run. */
export function thrownAgain({ name, message }: NonNullable<Step["error"]>) {
  if (name === "ToolError") return new ToolError(message);
  const error = new Error(message);
  error.name = name;
  return error;
}
