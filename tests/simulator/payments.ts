/**
 * Calls of a simulation that wait for an approval, and the promises of
 * docs/approvals.md about them.
 *
 * @module
 */
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import type { Person } from "./person.ts";
import type { ServerProcess } from "./server_process.ts";
import { OBEYED_SECONDS, type World } from "./world.ts";

/** The time for which a person lets small payments run without a press. */
const REMEMBERED_SECONDS = 60;
/** An approval can be given for 15 minutes, by clocks that jump. */
const OPEN_SECONDS = 600;

/** The permission of a person for one app to act without a press. */
export interface Allowance {
  /** The time at which a press with the box ticked was sent last. */
  tickedAt?: number;
  /** The time at which its person was told of that press. */
  toldAt?: number;
  /** The time at which its person was told that it has ended. */
  endedAt?: number;
}

interface Run {
  process: ServerProcess;
  at: number;
  endedAt?: number;
}

/** One payment of an app, and what became of it. */
export interface Payment {
  name: string;
  /** The name of its app. */
  app: string;
  isSmall: boolean;
  person: Person;
  allowance: Allowance;
  /** True if its person refuses it. */
  isUnwanted: boolean;
  /** The pages on which its person has begun to press "Approve". */
  pressed: Set<string>;
  /** The pages on which they were told that it is approved. */
  approved: Set<string>;
  /** The page that the call named last, and the time before which it was not open. */
  link?: string;
  linkedAt: number;
  /** The time of the first call after the last answer that named a page. */
  askedAt?: number;
  /** The times that its person said that they have looked. */
  looks: number;
  runs: Map<string, Run>;
}

export class Payments {
  readonly #payments = new Map<string, Payment>();

  constructor(private readonly world: World) {}

  /** Makes a payment, for an argument of the tool. */
  payment(
    of: Pick<
      Payment,
      "app" | "person" | "allowance" | "isSmall" | "isUnwanted"
    >,
  ): Payment {
    const payment = {
      ...of,
      name: `b${this.#payments.size + 1}`,
      pressed: new Set<string>(),
      approved: new Set<string>(),
      linkedAt: 0,
      looks: 0,
      runs: new Map<string, Run>(),
    };
    this.#payments.set(payment.name, payment);
    return payment;
  }

  tool() {
    return tool({
      name: "pay",
      input: z.object({ payment: z.string(), isSmall: z.boolean() }),
      approval: {
        show: ({ payment }) => ({ title: `Pay ${payment}` }),
        remember: ({ payment, isSmall }) =>
          isSmall
            ? {
              key: "small",
              label: this.#payments.get(payment)!.app,
              seconds: REMEMBERED_SECONDS,
            }
            : undefined,
      },
      run: async ({ payment: name }, { approval }) => {
        const { world } = this;
        const payment = this.#payments.get(name)!;
        const { process } = world;
        const run: Run = { process, at: world.seconds };
        const words = `${process.name} ran ${name}`;
        world.begins(payment.person.subject, name);
        if (approval === undefined) {
          return world.breaks(`${words} without an approval`) ?? "";
        }
        const { id, by, remembered } = approval;
        if (by !== payment.person.subject) {
          world.breaks(`${words}, approved by ${by}`);
        }
        if (payment.runs.has(id)) {
          world.breaks(`${words} again with the same approval`);
        }
        if (remembered) this.#checkAllowance(payment, run);
        else {
          payment.runs.set(id, run);
          if (payment.runs.size > payment.pressed.size) {
            world.breaks(`${words} without a press`);
          }
        }
        await world.sleep(world.random.next());
        run.endedAt = world.seconds;
        return `paid ${name}`;
      },
    });
  }

  /** Checks that a run without a press was allowed, and still is. */
  #checkAllowance(
    { name, isSmall, allowance }: Payment,
    { process, at }: Run,
  ): void {
    const { world } = this;
    const { tickedAt, toldAt = Infinity, endedAt = Infinity } = allowance;
    const words = `${process.name} ran ${name} without a press`;
    if (!isSmall || tickedAt === undefined) world.breaks(words);
    const since = (time: number) => `${words} ${(at - time).toFixed(1)} s`;
    // A process that stands still may have begun before.
    const isAfter = (time: number) =>
      at > time && world.isSound(process, at - time + OBEYED_SECONDS);
    if (isAfter(endedAt + OBEYED_SECONDS)) {
      world.breaks(`${since(endedAt)} after its person has ended that`);
    }
    const isTimed = !world.faults.shares.has("clock");
    if (isTimed && isAfter(toldAt + REMEMBERED_SECONDS + 2)) {
      world.breaks(`${since(toldAt)} after its person has allowed that`);
    }
  }

  /**
   * Notes the answer of a call. Returns the page that its person is to open;
   * undefined if it is over.
   *
   * @param since the time at which the call was sent
   * @param isBound true unless its connection may have ended
   */
  read(
    payment: Payment,
    text: string,
    { since, isBound }: { since: number; isBound: boolean },
  ): string | undefined {
    const { world } = this;
    const { name, approved, runs } = payment;
    if (text === `paid ${name}`) return;
    if (text.includes("its end is not known")) {
      const run = [...runs.values()].at(-1);
      // It may be under way, for a try of the same call.
      const { endedAt = Infinity, at, process } = run ?? {};
      if (
        process && since > endedAt + OBEYED_SECONDS &&
        world.isSound(process, world.seconds - at! + OBEYED_SECONDS)
      ) world.breaks(`the end of ${name} was not kept: ${text}`);
      return payment.link;
    }
    const link = /^http\S*\/approve\/\S*$/m.exec(text)?.[0];
    if (link !== undefined) {
      const isNew = link !== payment.link;
      if (isNew && isBound && approved.size > runs.size + payment.looks) {
        world.breaks(`an approval of ${name} was lost: ${text}`);
      }
      // A call whose answer was lost may have opened the page.
      if (isNew) payment.linkedAt = payment.askedAt ?? since;
      payment.askedAt = undefined;
      return payment.link = link;
    }
    if (text.includes("The person refused this")) {
      if (payment.isUnwanted || runs.size > 0) return;
    } else if (text.includes("No one approved this in time")) {
      if (!isBound || world.seconds > payment.linkedAt + OPEN_SECONDS) return;
    }
    world.breaks(`pay ${name} was answered: ${text}`);
  }
}
