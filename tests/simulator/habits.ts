/**
 * The habits of clients and people in a simulation: their acts, and how often
 * they do each. The seed decides that, as it decides the faults: some simulations
 * are nearly all durable work or accounts, and others have nearly none.
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
  cancel: 0.5,
  reuse: 0.5,
  revoke: 0.5,
  disconnect: 0.5,
  disconnectKey: 0.5,
  erase: 0.5,
  pause: 0.5,
  block: 0.5,
};

export type Act = keyof typeof ACTS;

/** The acts of durable work. */
const WORK: readonly string[] = ["work", "look"];
/** The acts with accounts at other services. */
const ACCOUNTS: readonly string[] = ["profile", "elsewhere"];
/** The acts that are seldom in a seed. */
const SOME_SELDOM: readonly ((act: string) => boolean)[] = [
  (act) => WORK.includes(act),
  (act) => !WORK.includes(act),
  (act) => !ACCOUNTS.includes(act),
  () => false,
];
/** The factor of their shares. */
const SELDOM = 0.1;

export class Habits {
  /** The longest pause between two acts of a client. */
  readonly pauseSeconds: number;
  readonly #shares: { act: Act; share: number }[];

  constructor({ seed }: Simulation) {
    const random = new Random(seed, "habits");
    const isSeldom = random.pick(SOME_SELDOM);
    this.pauseSeconds = 4 * 10 ** random.between(-1.3, 0);
    this.#shares = Object.entries(ACTS).map(([act, usual]) => ({
      act: act as Act,
      share: usual * 10 ** random.between(-1, 1) *
        (isSeldom(act) ? SELDOM : 1),
    }));
  }

  /** Picks the next act. */
  pick(random: Random): Act {
    const all = this.#shares.reduce((sum, { share }) => sum + share, 0);
    let left = random.next() * all;
    return this.#shares.find(({ share }) => (left -= share) < 0)!.act;
  }
}
