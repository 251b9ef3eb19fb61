/**
 * The faults of a simulation, and how often each of them happens.
 *
 * @module
 */
import { Random } from "./random.ts";

/** The faults, each with its words for a report. */
export const FAULTS = {
  late: "an operation on the database takes seconds",
  refused: "an operation fails, and was not carried out",
  forgotten:
    "an operation is carried out, its answer is lost, and maybe the next too",
  repeated: "a commit is carried out twice, as clients repeat it",
  never: "an operation is never answered",
  delayed: "a commit that is never answered is carried out up to 90 s later",
  outage: "the database refuses everything for a moment",
  stall: "the database answers nothing for up to 40 s, and then does all",
  stop: "a process stands still for up to a minute and a half",
  death: "a process dies, and another starts",
  restart: "a process is told to end, and another starts",
  release: "a new process has another release of the code",
  clock: "the clock of a process jumps",
  cut: "a request or its answer is lost between client and server",
  silence: "the provider or a service loses a request or an answer",
  repetition: "a client sends a request twice",
  amnesia: "a service takes an access token no more before its end",
  haste: "people and clients do things at the same time",
  storm: "for some seconds, all of these happen far more often",
} as const;

export type Fault = keyof typeof FAULTS;

/** The faults that happen to an operation on the database. */
export const OPERATION_FAULTS = [
  "late",
  "refused",
  "forgotten",
  "repeated",
  "never",
  "delayed",
] as const;

/** The faults that happen to a simulation as a whole, at moments of their own. */
export const EVENTS = [
  "outage",
  "stall",
  "stop",
  "death",
  "restart",
  "clock",
  "storm",
] as const;

/** The weight of all faults during a storm. */
const STORM = 20;

/** The share of kinds of commits that are weak spots, and their weight. */
const WEAK = 0.2;
const AT_WEAK = 10;
/** The most likely fault leaves most operations as they are. */
const MAX_CHANCE = 0.3;

/** A simulation: its seed, and what is left out of what the seed decides. */
export interface Simulation {
  seed: number;
  /** The most happenings before all faults end. */
  steps: number;
  /** Faults and actors that the seed would bring, and that are left out. */
  without?: readonly string[];
  /** Words of broken promises that are passed over, to look for others. */
  but?: string;
}

/** The faults that a seed brings, which are a part of all. */
export class Faults {
  /** The share of cases in which each fault happens, for those that do. */
  readonly shares = new Map<Fault, number>();
  /** True during a storm: what follows a fault is then met by others. */
  isStorm = false;
  /** True from the time at which everything is well again. */
  isOver = false;
  readonly #random = new Map<Fault, Random>();
  readonly #seed: number;
  readonly #weights = new Map<string, number>();

  readonly #without: readonly string[];

  constructor({ seed, without = [] }: Simulation) {
    this.#seed = seed;
    this.#without = without;
    const random = new Random(seed, "faults");
    for (const fault of Object.keys(FAULTS) as Fault[]) {
      const isThere = random.chance(0.5);
      // Many faults of one kind in some seeds, and few in others.
      const share = 10 ** random.between(-3, -1.5);
      if (isThere && !without.includes(fault)) this.shares.set(fault, share);
      this.#random.set(fault, new Random(seed, fault));
    }
  }

  /** True if a fault may happen; the last ones do so in every seed. */
  mayHappen(fault: Fault): boolean {
    return this.isOver
      ? !this.#without.includes(fault)
      : this.shares.has(fault);
  }

  /** Decides if a fault happens now. @param weight makes it so often as likely */
  strikes(fault: Fault, weight = 1): boolean {
    const share = this.shares.get(fault);
    if (share === undefined || this.isOver) return false;
    const all = this.isStorm ? weight * STORM : weight;
    const chance = Math.min(share * all, MAX_CHANCE);
    return this.#random.get(fault)!.chance(chance);
  }

  /**
   * Returns the weight of an operation: each seed has its own weak spots, so that
   * a commit that is made seldom is struck in one seed or another.
   */
  weightOf(label: string): number {
    let weight = this.#weights.get(label);
    if (weight === undefined) {
      const isWeak = label.startsWith("commit") &&
        new Random(this.#seed, label).chance(WEAK);
      this.#weights.set(label, weight = isWeak ? AT_WEAK : 1);
    }
    return weight;
  }

  /** Returns the random numbers that decide the details of a fault. */
  of(fault: Fault): Random {
    return this.#random.get(fault)!;
  }
}
