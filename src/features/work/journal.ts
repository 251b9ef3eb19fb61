/**
 * The journal of durable work: every step, sleep and question, with its result
 * once it has one. A later run must come to them in the same order as earlier
 * runs. If it does not, the author's code has changed, and stored results could
 * go to the wrong steps.
 *
 * @module
 */
import { pause } from "../../core/clock.ts";
import {
  checkName,
  DivergenceError,
  named,
  placeOf,
  type Step,
  stepTitle,
} from "./steps.ts";
import type { AskedQuestion } from "../../core/protocol/question.ts";
import { APPROVAL_KEY } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";
import { errorNameOf, isError, messageOf } from "../../core/thrown.ts";
import { LAPSE_SECONDS } from "../../core/kv/leases.ts";
import { untilReachable } from "../../core/kv/operations.ts";
import type { AuthorCode } from "../../core/mcp/exchange/author_code.ts";
import type { Claim } from "./run_record.ts";
import { Parked, type Parking } from "./parking.ts";

/**
 * The time for which a step waits for the step before it in earlier runs.
 * Parallel branches may arrive in another order.
 */
const PATIENCE_MILLISECONDS = 5000;

export const MAX_STEPS = 1000;

/** The maximum number of characters of all results of one task. */
export const MAX_CHARACTERS = 4 * 1024 * 1024;

/** A step, sleep or question of this run. */
export interface JournalEntry {
  id: string;
  /** The position of the entry in this run; the first has 1. */
  number: number;
  /** True if no other entry was in progress when this one began. */
  isAlone: boolean;
  question?: AskedQuestion;
  /** The step as an earlier run stored it. */
  known?: Step;
  /** The time at which the first run began it, in epoch seconds. */
  startedAt: number;
  /** An error whose stack has the author's line. */
  where: Error;
}

/** The members of a step that change while it is done. */
type StepState =
  & Pick<Step, "state">
  & Partial<Omit<Step, "id" | "number" | "version" | "isAlone" | "startedAt">>;

/**
 * True for the step that approves a run. It may come at any position: the
 * author's code does not ask for it, and an operator may turn approval on or
 * off between runs.
 */
export const isApproval = ({ id }: Pick<Step, "id">) =>
  id.startsWith(`ask:${APPROVAL_KEY}#`);

export class Journal {
  readonly #known: ReadonlyMap<string, Step>;
  /** The steps that earlier runs of this version began, by position. */
  readonly #before: readonly Step[];
  readonly #entries = new Map<string, JournalEntry>();
  readonly #open = new Set<JournalEntry>();
  /** The keys of the task's questions, from all runs. */
  readonly keys: Set<string>;
  #next = 0;
  #count = 0;
  #entered = Promise.withResolvers<void>();
  #characters = 0;

  /** @param steps the steps of earlier runs */
  constructor(
    readonly run: DurableRun,
    steps: readonly Step[],
    private readonly version: number,
  ) {
    this.#known = new Map(steps.map((step) => [step.id, step]));
    this.#before = steps.filter((step) =>
      step.version === version && !isApproval(step)
    );
    this.keys = new Set(steps.flatMap(({ key }) => key ?? []));
    for (const { text = "" } of steps) this.#characters += text.length;
  }

  /** True until this run has come to all steps of earlier runs. */
  get isReplay(): boolean {
    return this.#missing !== undefined;
  }

  /** The first step of earlier runs that this run has not come to yet. */
  get #missing(): Step | undefined {
    return this.#before[this.#next];
  }

  hasKept(id: string): boolean {
    return this.#known.get(id)?.state === "kept";
  }

  /**
   * Begins a step, sleep or question of the author's code.
   *
   * @throws {TypeError} if the ID is not a string of 1 to 200 characters, or
   * was used before
   * @throws {RangeError} if the task has too many entries
   */
  enter(
    kind: "step" | "sleep" | "ask",
    name: string,
    where: Error,
    question?: AskedQuestion,
  ): JournalEntry {
    checkName(name);
    const id = question
      ? this.#questionId(name, question, where)
      : `${kind}:${name}`;
    const before = this.#entries.get(id);
    if (before) {
      throw new TypeError(
        `${stepTitle(id)} is there twice${placeOf(before.where)} and` +
          `${placeOf(where)}: give a loop's steps a counter`,
      );
    }
    const isAlone = this.#open.size === 0;
    const number = isApproval({ id }) ? 0 : ++this.#count;
    const known = this.#known.get(id);
    const startedAt = known?.startedAt ?? this.run.now();
    const entry = { id, number, isAlone, startedAt, question, known, where };
    this.#entries.set(id, entry);
    this.#open.add(entry);
    while (this.#missing && this.#entries.has(this.#missing.id)) this.#next++;
    this.#entered.resolve();
    this.#entered = Promise.withResolvers();
    if (number > MAX_STEPS) {
      throw new RangeError(
        `${stepTitle(id)} is one too many: a task has at most ${MAX_STEPS}`,
      );
    }
    return entry;
  }

  /**
   * Makes the ID of a question. A repeated question, as in a loop, gets another
   * ID.
   *
   * @throws {TypeError} while the same question to a person is open, because
   * the answer could belong to either
   */
  #questionId(
    name: string,
    { fingerprint, text, isForPerson }: AskedQuestion,
    where: Error,
  ): string {
    const first = `ask:${name}#${fingerprint}`;
    let id = first;
    for (let n = 2; this.#entries.has(id); n++) {
      const before = this.#entries.get(id)!;
      if (isForPerson && this.#open.has(before)) {
        throw new TypeError(
          `${stepTitle(id, text)} is open twice${placeOf(before.where)} and${
            placeOf(where)
          }: give each a key of its own, or ask one after the other`,
        );
      }
      id = `${first}.${n}`;
    }
    return id;
  }

  /**
   * Waits until this run has come to every step that earlier runs began before
   * this one.
   *
   * @throws {DivergenceError}
   */
  async waitForOrder(entry: JournalEntry): Promise<void> {
    if (!this.#missing) return;
    const { known, number } = entry;
    const { version, run: { signal } } = this;
    const place = known?.version === version ? known.number : number;
    const patience = new AbortController();
    const ending = AbortSignal.any([signal, patience.signal]);
    let over: Promise<"over"> | undefined;
    try {
      for (;;) {
        const missing = this.#missing;
        if (!missing || missing.number > place) return;
        if (this.#isSequential) throw new DivergenceError(missing, entry);
        over ??= pause(PATIENCE_MILLISECONDS, ending).then(() => "over");
        const entered = this.#entered.promise;
        if (await Promise.race([entered, over]) === "over") {
          throw new DivergenceError(missing, entry);
        }
      }
    } finally {
      patience.abort();
    }
  }

  get #isSequential(): boolean {
    return this.#open.size === 1 && this.#before.every((step) => step.isAlone);
  }

  leave(entry: JournalEntry): void {
    this.#open.delete(entry);
  }

  /**
   * Checks the end of a run that returned: it has awaited all its steps, and
   * had all steps of earlier runs. Sleeps and questions may still be open: one
   * may have lost a race with a time limit.
   *
   * @throws {DivergenceError | TypeError}
   */
  checkEnd(): void {
    const open = [...this.#open].find(({ id }) => id.startsWith("step:"));
    if (open) {
      throw new TypeError(
        `${stepTitle(open.id)} was not awaited${placeOf(open.where)}`,
      );
    }
    if (this.#missing) throw new DivergenceError(this.#missing);
  }

  async save(entry: JournalEntry, state: StepState): Promise<void> {
    await this.run.save(this.stepOf(entry, state));
    this.#characters += state.text?.length ?? 0;
  }

  stepOf(
    { id, number, isAlone, startedAt }: JournalEntry,
    state: StepState,
  ): Step {
    const { version } = this;
    return { id, number, version, isAlone, startedAt, ...state };
  }

  /** @throws {RangeError} if the results of the task would become too long */
  checkRoom({ id }: JournalEntry, text = ""): void {
    if (this.#characters + text.length <= MAX_CHARACTERS) return;
    throw new RangeError(
      `The result of ${named(id)} cannot be kept: those of one task have at ` +
        `most ${MAX_CHARACTERS} characters together`,
    );
  }
}

/**
 * Serializes the result of a step as JSON; undefined stays undefined. Account
 * tokens are removed from the result's texts.
 *
 * @throws {TypeError} with the step's name, if JSON cannot express the value,
 *   or if an account token is one of the result's members
 */
export function printKept(
  name: string,
  value: unknown,
  given?: GivenKeys,
): string | undefined {
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
      if (given?.isKey(member, key !== "")) {
        refuse(`${where} is a secret: read it where it is used`);
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
  return given?.cleanJson(text) ?? text;
}

export function parseKept<T>(text: string | undefined): T {
  return (text === undefined ? undefined : JSON.parse(text)) as T;
}

const MAX_MESSAGE_CHARACTERS = 1000;

export function printThrown(thrown: unknown): Step["error"] {
  if (!isError(thrown)) {
    return { name: "Error", message: "The step threw what is no error" };
  }
  return {
    name: (errorNameOf(thrown) ?? "Error").slice(0, 100),
    message: messageOf(thrown).slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed(),
  };
}

/** Recreates the exception that a step threw in an earlier run. */
export function thrownAgain({ name, message }: NonNullable<Step["error"]>) {
  if (name === "ToolError") return new ToolError(message);
  const error = new Error(message);
  error.name = name;
  return error;
}

/**
 * The reason that interrupts a run whose caller has lost the right to do this
 * work.
 */
export class Expelled extends Error {
  override name = "Expelled";
}

interface RunParts {
  claim: Claim;
  parking: Parking;
  signal: AbortSignal;
  /** Returns epoch seconds. */
  now(): number;
  /** Stores a step. Returns false if the claim is lost. */
  store(step: Step): Promise<boolean>;
  /** Renews the claim. Returns false if it is lost. */
  renew(): Promise<boolean>;
  /** Returns true while the caller is allowed to do this work. */
  isAllowed(): Promise<boolean | "paused">;
  interrupt(reason: unknown): Promise<never>;
  /** Returns the author's code, with the account tokens that it got. */
  code(): Pick<AuthorCode, "given" | "clean">;
}

/** True if the lease cannot have expired yet. */
function isSure({ renewedMilliseconds }: Claim): boolean {
  return performance.now() - renewedMilliseconds < LAPSE_SECONDS * 1000;
}

export type DurableRun = ReturnType<typeof durableRun>;

export function durableRun(parts: RunParts) {
  const { claim, parking, signal, store, renew, isAllowed, interrupt } = parts;
  return {
    ...parts,

    /**
     * Interrupts the run if its claim is lost, or its caller is no longer
     * allowed. Parks it if its caller is paused. Never settles while the run is
     * being parked.
     */
    async checkMayContinue(): Promise<void> {
      if (parking.isReleased) await parking.never();
      const isStillAllowed = await parking.activity(() =>
        untilReachable(isAllowed, { signal })
      );
      if (!isStillAllowed) await interrupt(new Expelled());
      if (isStillAllowed === "paused") parking.pause();
      await this.ensureClaim();
      // The claim may have been given away meanwhile.
      if (signal.aborted || parking.isReleased) await parking.never();
    },

    /**
     * Renews the claim if it may be lost, as after a long pause. Interrupts the
     * run if the claim is lost. Never settles once the run is left to other
     * processes.
     */
    async ensureClaim(): Promise<void> {
      // The process may be paused again before it learns that the claim is
      // renewed.
      while (!isSure(claim)) {
        const isRenewed = await parking.activity(() =>
          untilReachable(renew, { signal })
        );
        if (!isRenewed) await interrupt(new Parked());
      }
      if (parking.isOver) await parking.never();
    },

    /** Stores a step; retries until the database responds. */
    async save(step: Step): Promise<void> {
      const isSaved = await parking.activity(() =>
        untilReachable(() => store(step), { signal })
      );
      if (!isSaved) await interrupt(new Parked());
      parking.progressAt = parking.now();
    },

    async note(step: Step): Promise<void> {
      await store(step).catch(() => {});
    },
  };
}
