/**
 * The durable work of a simulation: orders whose parts are steps, sleeps,
 * questions and webhooks; and the promises of docs/long_work.md about them.
 *
 * @module
 */
import * as z from "zod";
import { tool } from "../../src/authoring/tool.ts";
import type { Context } from "../../src/authoring/context.ts";
import type {
  AccountNeeds,
  NeededAccounts,
} from "../../src/authoring/account.ts";
import type { ServerProcess } from "./server_process.ts";
import type { Issued, World } from "./world.ts";

/** The parts that an order may have. */
export const PARTS = [
  "repeated",
  "once",
  "plain",
  "account",
  "sleep",
  "webhook",
  "form",
  "page",
] as const;

export type Part = typeof PARTS[number];

/** The longest time of work that is no durable one. */
const PLAIN_SECONDS = 60;
/**
 * A plain task has ended so long after everything is well, and durable work goes
 * on after its answer, at the latest.
 */
const WELL_SECONDS = 180;

/** The longest time of a webhook: far longer than the simulation. */
const WEBHOOK_SECONDS = 24 * 3600;
/** A process learns of a cancellation within this time: a watch may break. */
const CANCELLED_SECONDS = 6;
/** A process without trouble has taken what it runs within this time. */
const TAKEN_SECONDS = 10;
/** A process without trouble for so long knows that it still has its work. */
const SOUND_SECONDS = 120;

/** One part of one task, as far as it has come. */
interface Known {
  /** The process in which the step began last, and when. */
  begun?: { process: ServerProcess; at: number };
  /** The process of each execution of the step. */
  done: ServerProcess[];
  once: Set<string>;
  /** The value that `run` was given, as JSON: from then on it is kept. */
  value?: string;
  /** The data of a webhook that was told that it is the answer, and when. */
  accepted?: { text: string; at: number };
}

/** A task as its own code saw it. */
export class Work {
  /** The end of the task, as its client read it. */
  end?: { status: string; text: string };
  /** The process in which a plain task began, and when. */
  begun?: { process: ServerProcess; at: number };
  /** The person for whom it runs. */
  subject = "";
  readonly known: Known[];

  constructor(
    readonly id: string,
    readonly order: Order,
  ) {
    this.known = order.parts.map(() => ({ done: [], once: new Set() }));
  }
}

/** One call that begins work; an answer that is lost may leave several tasks. */
export interface Order {
  name: string;
  /** None of a plain task. */
  parts: readonly Part[];
  /** The time at which the right to do it was taken away, as its person was told. */
  forbiddenAt?: number;
  /** True from when its end was asked for. */
  mayEnd: boolean;
  /** The task with which its call was answered. */
  taskId?: string;
  /** The processes that answered its call with 503, and when. */
  readonly refusals: Issued[];
  /** True if an answer was lost, or the call was sent twice: it may have two tasks. */
  mayBeSeveral: boolean;
}

export class Orders {
  readonly works = new Map<string, Work>();
  /** The time at which the client was told that a task is cancelled. */
  readonly cancelled = new Map<string, number>();
  /** The pages of each task on which its person has answered. */
  readonly #answered = new Map<string, Set<string>>();
  readonly #orders = new Map<string, Order>();

  constructor(private readonly world: World) {}

  /** Makes an order, for an argument of the tools. */
  order(parts: readonly Part[]): Order {
    const order = {
      name: `o${this.#orders.size + 1}`,
      parts,
      mayEnd: false,
      refusals: [],
      mayBeSeveral: false,
    };
    this.#orders.set(order.name, order);
    return order;
  }

  /** Makes the tools, in a version of their code. */
  tools(version: number) {
    const { world, world: { declared: { crm, other, bank } } } = this;
    const options = {
      input: z.object({ order: z.string() }),
      task: { durable: true as const, version },
    };
    return [
      tool({
        ...options,
        name: "order",
        run: ({ order }, context) => this.#run(order, context, version),
      }),
      tool({
        ...options,
        name: "crm_order",
        needs: { crm },
        run: ({ order }, context) =>
          this.#run(order, context, version, context.needs),
      }),
      tool({
        name: "profile",
        needs: { crm },
        run: async (_input, { needs, caller }) => {
          world.begins(caller.subject, "profile");
          const response = await needs.crm.fetch("/me");
          return `${response.status} ${await response.text()}`;
        },
      }),
      tool({
        name: "elsewhere",
        needs: { other },
        async run(_input, { needs }) {
          const { content: [first] } = await needs.other.call("who");
          return `200 ${first.type === "text" ? first.text : ""}`;
        },
      }),
      tool({
        name: "balance",
        input: z.object({ leads: z.boolean() }),
        needs: { bank },
        async run({ leads }, { needs }) {
          if (leads) return await (await needs.bank.fetch("/leads")).text();
          await needs.bank.fetch("/me");
          await world.sleep(world.random.between(0, 8));
          const response = await needs.bank.fetch("/me");
          return `${response.status} ${await response.text()}`;
        },
      }),
      tool({
        name: "report",
        input: z.object({ order: z.string() }),
        task: "required",
        run: ({ order }, context) => this.#report(order, context),
      }),
      tool({
        name: "whoami",
        run: (_input, { caller }) => {
          world.begins(caller.subject, "whoami");
          return caller.subject;
        },
      }),
    ];
  }

  /** Runs a plain task, which no process takes over. */
  async #report(
    name: string,
    { requestId: id, caller }: Pick<Context, "requestId" | "caller">,
  ): Promise<string> {
    const { world, world: { process, random } } = this;
    world.begins(caller.subject, `${name} (${id})`);
    if (this.works.has(id)) world.breaks(`${id} runs twice`);
    const work = new Work(id, this.#orders.get(name)!);
    work.begun = { process, at: world.seconds };
    this.works.set(id, work);
    await world.sleep(random.between(0, PLAIN_SECONDS));
    return `report of ${name}`;
  }

  /** Finds the order that a call is for. */
  orderOf(call: RequestInit): Order | undefined {
    const [, name] = /"order":"(o\d+)"/.exec(`${call.body}`) ?? [];
    return this.#orders.get(name);
  }

  /** Notes the task with which a call was answered. */
  begun(order: Order, taskId: string): void {
    order.taskId = taskId;
    for (const work of this.works.values()) this.#checkWanted(work);
  }

  /** Checks that a process takes no work whose call was answered with 503. */
  #checkTaken({ id, order: { name } }: Work): void {
    const { world } = this;
    const passed = world.seconds - (world.database.givenUpAt(id) ?? Infinity);
    const isKnown = passed > TAKEN_SECONDS &&
      world.isSound(world.process, TAKEN_SECONDS);
    if (!isKnown) return;
    world.breaks(`${id} is done for ${name}, whose call was answered with 503`);
  }

  /** Checks that no work is done for a try of a call that was answered with 503. */
  #checkWanted({ id, order }: Work): void {
    const { name, taskId = id, refusals, mayBeSeveral } = order;
    const { world } = this;
    if (taskId === id || mayBeSeveral) return;
    if (refusals.some((refusal) => world.mayOwe(refusal))) return;
    world.breaks(
      `${id} is done for ${name}, whose call was answered with 503, and then ` +
        `with ${taskId}`,
    );
  }

  /**
   * Checks that a task that has not ended may still run.
   *
   * @param since the time at which its client asked
   */
  goesOn(id: string, { parts, name }: Order, since: number): void {
    const { world } = this;
    if (since > (this.cancelled.get(id) ?? Infinity)) {
      world.breaks(`${name} (${id}) goes on though it was cancelled`);
    }
    const { at } = this.works.get(id)?.begun ?? { at: 0 };
    const passed = world.seconds - Math.max(at, world.wellSince);
    if (passed > WELL_SECONDS) this.#checkAnswered(id);
    if (parts.length > 0 || !(passed > WELL_SECONDS)) return;
    world.breaks(`${name} (${id}) has not ended in ${passed.toFixed(0)} s`);
  }

  /** Checks that work does not wait for a webhook that has come. */
  #checkAnswered(id: string): void {
    const { world } = this;
    for (const { value, accepted } of this.works.get(id)?.known ?? []) {
      const passed = world.seconds - (accepted?.at ?? Infinity);
      if (value !== undefined || passed <= WELL_SECONDS) continue;
      world.breaks(`${id} waits ${passed.toFixed(0)} s after its webhook came`);
    }
  }

  /** Notes that a person has answered a page of a task: it asks no second time. */
  answered(id: string, { name, parts, mayEnd }: Order, link: string): void {
    const links = this.#answered.get(id) ?? new Set();
    this.#answered.set(id, links.add(link));
    const pages = parts.filter((part) => part === "page").length;
    if (links.size > pages && !mayEnd) {
      this.world.breaks(
        `${name} (${id}) asked ${links.size} times on ${pages} pages`,
      );
    }
  }

  /** Checks the end of a plain task. */
  #checkPlain({ id, order, begun }: Work, status: string, text: string): void {
    const { world } = this;
    if (status === "completed") {
      if (text === `report of ${order.name}`) return;
    } else if (order.mayEnd) return;
    else if (status === "failed" && begun) {
      const { process, at } = begun;
      if (process.isDead || process.isEnding) return;
      if (!world.isSound(process, world.seconds - at + 1)) return;
    }
    world.breaks(`${id} (${order.name}) ended ${status}: ${text}`);
  }

  async #run(
    name: string,
    // deno-lint-ignore no-explicit-any
    context: Context<any, any, any>,
    version: number,
    needs?: NeededAccounts<AccountNeeds & Pick<World["declared"], "crm">>,
  ): Promise<string> {
    const order = this.#orders.get(name)!;
    const { requestId, step } = context;
    let work = this.works.get(requestId);
    if (!work) this.works.set(requestId, work = new Work(requestId, order));
    this.#checkTaken(work);
    this.#checkWanted(work);
    work.subject = context.caller.subject;
    const values: unknown[] = [];
    for (const [n, part] of order.parts.entries()) {
      // A release has a step that the one before it had not.
      if (version % 2 === 0) {
        await step(`note ${n}`, () => true, { retries: 9 });
      }
      const value = await this.#do(work, n, part, context, needs);
      this.#give(work, n, value);
      values.push(value);
    }
    return JSON.stringify(values);
  }

  async #do(
    work: Work,
    n: number,
    part: Part,
    // deno-lint-ignore no-explicit-any
    { step, sleep, ask, wait }: Context<any, any, any>,
    needs?: { crm: { fetch(path: string): Promise<Response> } },
  ): Promise<unknown> {
    const id = `${part} ${n}`;
    const { world } = this;
    const { random } = world;
    switch (part) {
      case "repeated":
        return await step(id, async ({ once }) => {
          this.#begin(work, n);
          await world.sleep(random.next());
          if (random.chance(0.1) && !world.faults.isOver) {
            throw new Error("the shop is closed");
          }
          return this.#effect(work, n, once);
        }, { retries: 20 });
      case "once":
        return await step(id, async ({ once }) => {
          this.#begin(work, n);
          await world.sleep(random.next());
          return this.#effect(work, n, once);
        });
      case "plain":
        return await step(id, async () => {
          this.#begin(work, n);
          const { process, seconds: at } = world;
          work.known[n].begun = { process, at };
          await world.sleep(random.next());
          return this.#effect(work, n);
        });
      case "account": {
        if (!needs) return;
        return await step(id, async () => {
          const response = await needs.crm.fetch("/me");
          const text = await response.text();
          if (!response.ok) throw new Error(`the CRM answered ${text}`);
          return text;
        }, { retries: 20 });
      }
      case "sleep":
        return await sleep(id, 1 + random.below(random.chance(0.5) ? 4 : 40));
      case "webhook": {
        const data = await wait(id, {
          message: "Pay",
          seconds: WEBHOOK_SECONDS,
          open: (token) => this.onWebhook(work, n, token),
        });
        const { accepted } = work.known[n];
        if (data === undefined) {
          this.world.breaks(
            `${work.id} waited for a webhook to the end, though it was ${
              accepted ? "answered" : "not over"
            }`,
          );
        }
        if (accepted && accepted.text !== JSON.stringify(data)) {
          this.world.breaks(
            `${work.id} was given another answer than the one that was accepted: ${
              JSON.stringify(data)
            } for ${accepted.text}`,
          );
        }
        return data;
      }
      case "form": {
        const answer = await ask({
          key: id,
          message: `Go on with ${work.order.name}?`,
          schema: z.object({ word: z.string() }),
        });
        return answer.action === "accept" ? answer.content.word : answer.action;
      }
      case "page": {
        const answer = await ask({
          key: id,
          message: `Look at ${work.order.name}`,
          url: `https://shop.example/${work.order.name}/${n}`,
          until: "done",
        });
        return answer.action;
      }
    }
  }

  /** Called with the token of a webhook, maybe several times. */
  onWebhook: (work: Work, n: number, token: string) => void = () => {};

  /** Checks that a step begins in the process that has the work, and not long after its cancellation. */
  #begin({ id, subject }: Work, n: number): void {
    const { world, world: { process: { name } } } = this;
    world.begins(subject, `step ${n} of ${id}`);
    const passed = world.seconds - (this.cancelled.get(id) ?? Infinity);
    if (
      passed > CANCELLED_SECONDS && world.isSound(world.process, SOUND_SECONDS)
    ) {
      world.breaks(
        `step ${n} of ${id} began ${
          passed.toFixed(1)
        } s after its cancellation`,
      );
    }
    const holder = world.database.holderOf(id) ?? name;
    if (holder === name) return;
    world.breaks(`${name} begins step ${n} of ${id}, which ${holder} has`);
  }

  /** Notes that a step has had its effect. */
  #effect(work: Work, n: number, once?: string): string {
    const { world } = this;
    const { process } = world;
    const known = work.known[n];
    const part = work.order.parts[n];
    const name = `step ${n} (${part}) of ${work.id}`;
    if (known.value !== undefined && world.isSound(process, SOUND_SECONDS)) {
      world.breaks(
        `${name} was done again by ${process.name}, though its result was kept`,
      );
    }
    if (part === "plain" && known.done.length > 0) {
      world.breaks(
        `${name} was done by ${
          known.done[0].name
        } and ${process.name}, and must not be repeated`,
      );
    }
    const { forbiddenAt = Infinity } = work.order;
    if (
      world.seconds > forbiddenAt + 2 && world.isSound(process, SOUND_SECONDS)
    ) {
      world.breaks(
        `${name} was done ${
          (world.seconds - forbiddenAt).toFixed(1)
        } s after its person ended the connection`,
      );
    }
    if (once !== undefined) known.once.add(once);
    if (known.once.size > 1) {
      world.breaks(`${name} was given another \`once\``);
    }
    known.done.push(process);
    return `${n}/${known.done.length}`;
  }

  /** Notes what `run` was given for a part: it stays the same in each run. */
  #give(work: Work, n: number, value: unknown): void {
    const known = work.known[n];
    const text = JSON.stringify(value ?? null);
    if (known.value === undefined) known.value = text;
    else if (known.value !== text) {
      this.world.breaks(
        `part ${n} of ${work.id} gave ${known.value}, and then ${text}`,
      );
    }
    const part = work.order.parts[n];
    const wanted = part === "form"
      ? `"${work.order.name}"`
      : part === "page"
      ? '"accept"'
      : text;
    if (text !== wanted) {
      this.world.breaks(
        `${part} ${n} of ${work.id} was answered ${wanted}, and gave ${text}`,
      );
    }
  }

  /** Notes the end of a task, as its client reads it. */
  finish(work: Work, status: string, text: string): void {
    const { world } = this;
    const before = work.end;
    work.end = { status, text };
    if (before && (before.status !== status || before.text !== text)) {
      world.breaks(
        `${work.id} ended twice: ${Deno.inspect([before, work.end])}`,
      );
    }
    if (before) return;
    if (work.begun) return this.#checkPlain(work, status, text);
    if (work.order.mayEnd) return;
    const { known, order } = work;
    if (status === "completed") {
      const wanted = `[${known.map(({ value }) => value).join()}]`;
      if (text !== wanted) {
        world.breaks(`${work.id} gave ${wanted} and ended with ${text}`);
      }
      return;
    }
    // The one end that a death may bring.
    const step = /The step "(plain|once) (\d+)" may have happened/.exec(text);
    const isRight = step && order.parts[Number(step[2])] === step[1];
    if (isRight) {
      const { begun } = known[Number(step[2])];
      if (!begun || begun.process.isDead) return;
      const age = world.seconds - begun.at + 1;
      if (!world.isSound(begun.process, age)) return;
    }
    world.breaks(`${work.id} (${order.parts}) ended ${status}: ${text}`);
  }
}
