/**
 * The habits of clients and people in a simulation: their acts, and how often
 * they do each. The seed decides that, as it decides the faults: some simulations
 * are nearly all durable work, and in others people come and go.
 *
 * @module
 */
import type { Simulation } from "./faults.ts";
import { Random } from "./random.ts";

/** All acts, each with its usual share. */
const ACTS = {
  work: 2,
  look: 2,
  call: 2,
  refresh: 1,
  report: 1,
  profile: 1,
  elsewhere: 1,
  balance: 1,
  pay: 2,
  payOn: 1,
  payAgain: 0.2,
  cancel: 0.2,
  reuse: 0.2,
  revoke: 0.2,
  disconnect: 0.2,
  disconnectKey: 0.2,
  erase: 0.2,
  pause: 0.2,
  block: 0.2,
};

export type Act = keyof typeof ACTS;

/** The acts of durable work. */
const WORK: readonly string[] = ["work", "look"];
/** The factor of all other shares where nearly all is durable work. */
const REST = 0.1;

export class Habits {
  /** The longest pause between two acts of a client. */
  readonly pauseSeconds: number;
  readonly #shares: { act: Act; share: number }[];

  constructor({ seed }: Simulation) {
    const random = new Random(seed, "habits");
    const rest = random.chance(0.5) ? REST : 1;
    this.pauseSeconds = 4 * 10 ** random.between(-1.3, 0);
    this.#shares = Object.entries(ACTS).map(([act, usual]) => ({
      act: act as Act,
      share: usual * 10 ** random.between(-0.5, 0.5) *
        (WORK.includes(act) ? 1 : rest),
    }));
  }

  /** Picks the next act. */
  pick(random: Random): Act {
    const all = this.#shares.reduce((sum, { share }) => sum + share, 0);
    let left = random.next() * all;
    return this.#shares.find(({ share }) => (left -= share) < 0)!.act;
  }
}
