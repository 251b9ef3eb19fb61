/**
 * A client in a simulation, which acts for one person.
 *
 * @module
 */
import { codeKey } from "../../src/core/kv/keys.ts";
import { Client } from "../kit/client.ts";
import type { HeadersOf, Json } from "../kit/message.ts";
import { BASE_URL, Sender } from "../kit/server.ts";
import { TASKS } from "../kit/task.ts";
import type { Act, Habits } from "./habits.ts";
import { insist, type Person } from "./person.ts";
import type { Allowance, Payment, Payments } from "./payments.ts";
import type { Random } from "./random.ts";
import type { Order, Orders, Part } from "./work.ts";
import { PARTS } from "./work.ts";
import type { Answer, ServerProcess } from "./server_process.ts";
import { type Issued, OBEYED_SECONDS, type World } from "./world.ts";

/** The words of a 503 for the database, also in a stream. */
const UNAVAILABLE = /Storage is unavailable/;
const NOT_RUN = /^The server stops\. This was not run\. Call it again/;
/** An approved run may have ended too, and waits for its person. */
const OVER = /(connection|call|task) has ended/;

const capabilities = { ...TASKS, elicitation: {} };

/** An access token is used for so long, and then refreshed: it lives for an hour. */
const TOKEN_SECONDS = 1800;

/** The number of pieces of work beyond which no more is begun. */
const MOST_WORKS = 30;
/** The most pieces of work that are looked at in one go while there are faults. */
const MOST_LOOKED_AT = 4;

/** One sign-in, with all its tokens. */
interface Grant {
  access: string;
  refresh: string;
  /** The time at which the access token was given. */
  at: number;
  /** True from when its end may have begun. */
  mayEnd: boolean;
  /** The time from which it has ended, as its client was told. */
  endedAt?: number;
  /** The time from which it is paused, as its person was told. */
  pausedAt?: number;
  /** The number of pauses that may hold it. */
  pauses: number;
}

/** Sends requests to the processes of the world, until they are answered. */
class WorldSender extends Sender {
  #last?: ServerProcess;

  constructor(private readonly world: World, private readonly orders: Orders) {
    super();
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const order = this.orders.orderOf(init);
    const answer = await insist(
      this.world,
      () => this.#sendOnce(path, init, order),
    );
    const { text, process } = answer;
    const response = new Response(text === "" ? null : text, answer);
    return Object.assign(response, { process });
  }

  async #sendOnce(
    path: string,
    init: RequestInit,
    order?: Order,
  ): Promise<Answer> {
    const { world } = this;
    let count = 0;
    let answer: Answer | undefined;
    try {
      const onSent = () => void count++;
      answer = await world.send(BASE_URL + path, init, onSent, this.#last);
      this.#last = answer.process;
      return answer;
    } finally {
      if (order && (!answer || count > 1)) order.mayBeSeveral = true;
      const { status, text = "", process } = answer ?? {};
      if (process && (status === 503 || UNAVAILABLE.test(text))) {
        order?.refusals.push({ process, at: world.seconds });
      }
    }
  }
}

export class App {
  readonly #sender: WorldSender;
  readonly #works: { order: Order; id: string }[] = [];
  /** The payments that have not ended. */
  readonly #payments = new Set<Payment>();
  /** The process that sent each answer. */
  readonly #answerers = new WeakMap<Json, ServerProcess>();
  allowance: Allowance = {};
  #pauses = 0;
  #client?: Client;
  #grant?: Grant;
  #refreshing?: Promise<void>;

  constructor(
    readonly name: string,
    readonly world: World,
    readonly person: Person,
    readonly orders: Orders,
    readonly payments: Payments,
    readonly habits: Habits,
    readonly random: Random,
  ) {
    this.#sender = new WorldSender(world, orders);
    person.apps.push(this);
  }

  /**
   * Notes that the sign-in may end from now on. Returns a function that notes
   * that it has ended.
   */
  mayEnd(): () => void {
    const grant = this.#grant;
    if (grant) grant.mayEnd = true;
    for (const { order } of this.#works) order.mayEnd = true;
    return () => {
      if (grant) grant.endedAt = this.world.seconds;
    };
  }

  /**
   * Notes that the connection may be paused from now on. Returns what notes that
   * it is, that it may be resumed, and that it is.
   */
  mayPause(): Record<"begin" | "end" | "over", () => void> {
    const grant = this.#grant;
    this.#pauses++;
    if (grant) grant.pauses++;
    // Work that runs meanwhile ends.
    for (const { order } of this.#works) order.mayEnd = true;
    return {
      begin: () => {
        if (grant && grant === this.#grant) grant.pausedAt = this.world.seconds;
      },
      end: () => {
        if (grant) grant.pausedAt = undefined;
      },
      over: () => {
        this.#pauses--;
        const { seconds } = this.world;
        // Each process learns of it within a second.
        void this.world.sleep(OBEYED_SECONDS + 60).then(() => {
          for (const one of new Set([grant, this.#grant])) {
            if (one && one.pauses > 0 && one.at <= seconds) one.pauses--;
          }
        });
      },
    };
  }

  /** Lives until the faults are over, and then brings everything to its end. */
  async live(): Promise<void> {
    const { world, random, habits } = this;
    const acts: Record<Act, () => Promise<unknown>> = {
      work: () => this.#beginSome(),
      look: () => this.#look(MOST_LOOKED_AT),
      call: () => this.#call(),
      refresh: () => this.#refresh(),
      report: () => this.#begin([]),
      profile: () => this.#profile("profile"),
      elsewhere: () => this.#profile("elsewhere"),
      balance: () => this.#profile("balance"),
      pay: () => this.#pay(),
      payOn: () => this.#payOn(),
      payAgain: async () => {
        await this.person.endAllowances();
        await world.sleep(1.5);
        await this.#pay(true);
      },
      cancel: () => this.#cancel(),
      reuse: () => this.#useTwice(),
      revoke: () => this.#revoke(),
      disconnect: () => this.person.disconnect(),
      // A call that is under way has no other key than the next one.
      disconnectKey: () =>
        Promise.all([
          this.#profile("balance"),
          this.person.disconnect("bank"),
        ]),
      erase: () => this.person.erase(),
      pause: () => this.person.pause(),
      block: async () => {
        await this.#begin(Array<Part>(5).fill("repeated"));
        await this.person.block();
      },
    };
    while (!world.faults.isOver) {
      await world.sleep(random.between(0, habits.pauseSeconds));
      if (!this.#grant) await this.#signIn();
      const acting = acts[habits.pick(random)]();
      if (!world.faults.shares.has("haste")) await acting;
    }
    for (;;) {
      await world.sleep(8);
      if (!this.#grant) await this.#signIn();
      await this.#look();
      await this.#call();
      await this.#profile("profile");
      if (!this.person.hasLeft) await this.#profile("elsewhere");
      await this.#profile("balance");
      await this.#payOn();
    }
  }

  async #signIn(): Promise<void> {
    const { world, person } = this;
    const client = this.#client ??= await Client.register(this.#sender);
    const { erasures, isErasing } = person;
    for (;;) {
      const code = await person.visit("sign in", async (browser) => {
        const page = await browser.open(client.authorizationUrl());
        const arrival = await browser.press(page, "decision", "approve");
        if (!arrival.url.startsWith(client.redirectUri)) return;
        return new URL(arrival.url).searchParams.get("code") ?? undefined;
      });
      // A code that was named by a lost answer first may have expired.
      const { value } = await world.database.kv.get(codeKey(code));
      // An erasure has deleted it.
      const { expiresAt, usedAt } = value as Json ?? { expiresAt: 0 };
      // A thief has the code too.
      const thief = world.faults.strikes("haste", 10)
        ? this.#redeem(code)
        : undefined;
      const { answer, isCertain } = await this.#redeem(code);
      const stolen = await thief;
      if (stolen) {
        const isTwice = answer.status === 200 && stolen.answer.status === 200;
        if (isTwice && answer.text !== stolen.answer.text) {
          world.breaks("a code was exchanged for two pairs of tokens");
        }
        continue;
      }
      const body = JSON.parse(answer.text);
      const isErased = isErasing || person.isErasing ||
        person.erasures > erasures;
      if (answer.status === 200) {
        this.#grant = {
          access: body.access_token,
          refresh: body.refresh_token,
          at: world.seconds,
          mayEnd: isErased,
          // A sign-in of a paused connection is paused too.
          pauses: this.#pauses,
        };
        return;
      }
      const isLate = usedAt === undefined && world.mayBePast(expiresAt);
      if (isCertain && !isLate && !isErased) {
        world.breaks(`a code was used up by answers of 503: ${answer.text}`);
      }
    }
  }

  /**
   * Redeems a code. `isCertain`: every answer has come, and each 503 was written
   * down.
   */
  async #redeem(code: string): Promise<{ answer: Answer; isCertain: boolean }> {
    let isCut = false;
    const refusals: Issued[] = [];
    const { clientId, verifier, redirectUri } = this.#client!;
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    });
    const { world } = this;
    const answer = await insist(world, async () => {
      try {
        const answer = await world.send(`${BASE_URL}/token`, {
          method: "POST",
          body: `${body}`,
          headers: FORM,
        });
        const { status, process } = answer;
        if (status === 503) refusals.push({ process, at: world.seconds });
        return answer;
      } catch (error) {
        isCut = true;
        throw error;
      }
    });
    const mayOwe = refusals.some((refusal) => world.mayOwe(refusal));
    return { answer, isCertain: !isCut && !mayOwe };
  }

  get #headers(): HeadersOf {
    return { authorization: `Bearer ${this.#grant!.access}` };
  }

  /** Sends a request with the access token. Undefined if it was refused. */
  async #send(
    method: string,
    params: Json,
    isRepeatable = true,
  ): Promise<Json | undefined> {
    const { world } = this;
    const grant = this.#grant;
    if (!grant) return;
    if (world.seconds - grant.at > TOKEN_SECONDS) await this.#refresh();
    const since = world.seconds;
    const ends = () => ({
      "end of its connection": grant.endedAt,
      "block of its person": world.blocked.get(this.person.subject),
      "pause of its connection": grant.pausedAt,
    });
    const before = ends();
    const headers = this.#headers;
    const sending = this.#sender.call(method, params, {
      headers,
      capabilities,
    });
    const response = await sending;
    const text = await response.text();
    // The words are the same for a connection that has ended.
    const isPaused = grant.pauses > 0 && text.includes("is paused");
    if (response.status === 403 && isPaused) {
      await world.sleep(1);
      return;
    }
    if (response.status === 401 || response.status === 403) {
      this.#lose(grant, `${method} was answered ${response.status}: ${text}`);
      return;
    }
    const message = parse(text).at(-1);
    if (UNAVAILABLE.test(message?.error?.message ?? "")) {
      await world.sleep(this.random.between(0, 5));
      return await this.#send(method, params, isRepeatable);
    }
    for (const [end, at = Infinity] of Object.entries(ends())) {
      if (since <= at + OBEYED_SECONDS || !message?.result) continue;
      // One that is over by now may have been over as the call began.
      if (at !== before[end as keyof typeof before]) continue;
      world.breaks(
        `${method} was answered ${(since - at).toFixed(2)} s after the ${end}`,
      );
    }
    if (response.status !== 200 && isRepeatable) {
      world.breaks(`${method} was answered ${response.status}: ${text}`);
    }
    if (message && "process" in response) {
      this.#answerers.set(message, response.process as ServerProcess);
    }
    return message;
  }

  /** Notes that a grant is not accepted any more. */
  #lose(grant: Grant, words: string): void {
    const { world, person } = this;
    const isDead = world.provider.isLost(person.name);
    const isReused = world.mayHaveReused(this.#client!);
    if (!grant.mayEnd && !isDead && !isReused) {
      world.breaks(`${this.name}: ${words}`);
    }
    if (this.#grant === grant) this.#end(grant);
  }

  #end(grant: Grant): void {
    grant.mayEnd = true;
    this.#grant = undefined;
    for (const { order } of this.#works.splice(0)) order.mayEnd = true;
    this.#payments.clear();
    // A remembered approval ends with its connection.
    this.allowance = {};
  }

  /** Begins a payment. */
  async #pay(isSmall = this.random.chance(0.6)): Promise<void> {
    const { name: app, payments, person, allowance, random } = this;
    const isUnwanted = !isSmall && random.chance(0.3);
    this.#payments.add(
      payments.payment({ app, person, allowance, isSmall, isUnwanted }),
    );
    await this.#payOn();
  }

  /** Calls for each payment again, until it is over. */
  async #payOn(): Promise<void> {
    for (const payment of [...this.#payments]) {
      // It ended with its connection.
      if (!this.#payments.has(payment)) continue;
      const { name, isSmall } = payment;
      const grant = this.#grant;
      const since = this.world.seconds;
      payment.askedAt ??= since;
      const message = await this.#send("tools/call", {
        name: "pay",
        arguments: { payment: name, isSmall },
      });
      if (!message) return;
      // A call that stood still goes on as a task: the same call asks again.
      if (message.result?.taskId) continue;
      const isBound = this.#grant === grant && !grant!.mayEnd &&
        grant!.pauses === 0;
      const text = message.result?.content?.[0]?.text ??
        JSON.stringify(message);
      if (UNAVAILABLE.test(text) || NOT_RUN.test(text)) continue;
      if (!isBound && OVER.test(text)) continue;
      const answered = { since, isBound };
      const link = this.payments.read(payment, text, answered);
      if (link) {
        await this.person.decide(payment, link);
        continue;
      }
      const isAgain = this.random.chance(0.2) && !this.world.faults.isOver;
      // Some apps send a call again that was answered.
      if (isAgain) await this.world.sleep(2);
      else this.#payments.delete(payment);
    }
  }

  async #call(): Promise<void> {
    const message = await this.#send("tools/call", { name: "whoami" });
    if (!message) return;
    const text = message.result?.content?.[0]?.text;
    if (text !== this.person.subject) {
      this.world.breaks(`whoami gave ${JSON.stringify(message)}`);
    }
  }

  /** Refreshes the tokens, once at a time. */
  #refresh(): Promise<void> {
    return this.#refreshing ??= this.#refreshNow()
      .finally(() => this.#refreshing = undefined);
  }

  async #refreshNow(): Promise<void> {
    const grant = this.#grant;
    if (!grant) return;
    const refresh = () => this.#client!.refresh(grant.refresh);
    // Some clients refresh from two machines.
    const count = this.world.faults.shares.has("haste") ? 2 : 1;
    const answers = await Promise.all(Array.from({ length: count }, refresh));
    const refused = answers.find(({ status }) => status !== 200);
    if (refused) {
      const words = JSON.stringify(refused.body);
      this.#lose(grant, `a refresh was answered ${words}`);
      return;
    }
    const [{ body }, other = { body }] = answers;
    if (body.refresh_token !== other.body.refresh_token) {
      this.world.breaks("a refresh token was exchanged for two others");
    }
    grant.access = body.access_token;
    grant.refresh = body.refresh_token;
    grant.at = this.world.seconds;
  }

  /** Picks the parts of an order. */
  #parts(): Part[] {
    const { random } = this;
    return Array.from(
      { length: 1 + random.below(7) },
      () => random.pick(PARTS),
    );
  }

  /** Begins work at several places at once, unless there is much already. */
  async #beginSome(): Promise<void> {
    if (this.#works.length > MOST_WORKS) {
      return await this.#look(MOST_LOOKED_AT);
    }
    const count = 1 + this.random.below(6);
    await Promise.all(Array.from({ length: count }, () => this.#begin()));
  }

  /** Begins work. @param parts none for a plain task */
  async #begin(parts = this.#parts()): Promise<void> {
    const { orders } = this;
    const order = orders.order(parts);
    const name = parts.length === 0
      ? "report"
      : parts.includes("account")
      ? "crm_order"
      : "order";
    const grant = this.#grant;
    const message = await this.#send("tools/call", {
      name,
      arguments: { order: order.name },
    });
    const taskId = message?.result?.taskId;
    // Refused, or an account is missing.
    if (!taskId) return;
    orders.begun(order, taskId);
    const mayEnd = grant?.mayEnd || grant?.pauses;
    if (this.#grant !== grant || mayEnd) order.mayEnd = true;
    this.#works.push({ order, id: taskId });
  }

  /** Looks at pieces of work, by default at all, and answers what they ask. */
  async #look(most = Infinity): Promise<void> {
    const works = this.#works;
    const from = this.random.below(Math.max(1, works.length - most + 1));
    for (const { order, id } of works.slice(from, from + most)) {
      const since = this.world.seconds;
      const message = await this.#send("tasks/get", { taskId: id });
      if (!message) return;
      const task = message.result;
      if (!task) {
        // Another look may have seen its end.
        const isOpen = this.#works.some((work) => work.id === id);
        if (isOpen && !order.mayEnd) {
          this.world.breaks(`${id} is gone: ${JSON.stringify(message)}`);
        }
        this.#forget(id);
        continue;
      }
      this.world.scheduler.onStep?.(
        `${this.name} sees ${JSON.stringify(task)}`,
      );
      await this.#follow(order, id, task, since);
    }
  }

  /** Cancels some work: as soon as that is answered, it has ended. */
  async #cancel(): Promise<void> {
    if (this.#works.length === 0) return;
    const { order, id } = this.random.pick(this.#works);
    order.mayEnd = true;
    const message = await this.#send("tasks/cancel", { taskId: id }, false);
    const { cancelled } = this.orders;
    if (message?.result && !cancelled.has(id)) {
      cancelled.set(id, this.world.seconds);
    }
  }

  #forget(id: string): void {
    const at = this.#works.findIndex((work) => work.id === id);
    if (at >= 0) this.#works.splice(at, 1);
  }

  async #follow(
    order: Order,
    id: string,
    task: Json,
    since: number,
  ): Promise<void> {
    const { status, inputRequests, statusMessage, result, error } = task;
    if (status !== "working" && status !== "input_required") {
      const work = this.orders.works.get(id);
      const text = result?.content?.[0]?.text ?? error?.message ??
        statusMessage;
      if (work) this.orders.finish(work, status, text);
      else if (!order.mayEnd && order.parts.length > 0) {
        this.world.breaks(`${id} ended ${status} before it began: ${text}`);
      }
      this.#forget(id);
      return;
    }
    this.orders.goesOn(id, order, since);
    for (const [key, { params }] of Object.entries<Json>(inputRequests ?? {})) {
      if (params.mode === "url") continue;
      const inputResponses = {
        [key]: { action: "accept", content: { word: order.name } },
      };
      const done = await this.#send("tasks/update", {
        taskId: id,
        inputResponses,
      }, false);
      this.world.scheduler.onStep?.(
        `${this.name} answered ${JSON.stringify(done)}`,
      );
    }
    const link = /^http\S*$/m.exec(statusMessage ?? "")?.[0];
    if (!link) return;
    if (link.includes("/connect/")) await this.person.connect(link);
    else if (await this.person.answer(link)) {
      this.orders.answered(id, order, link);
    }
  }

  /** Acts at a service as the person. */
  async #profile(name: keyof typeof ACTING): Promise<void> {
    const { person, world } = this;
    const before = person.isSettled ? person.changesBegun : undefined;
    const leads = this.random.chance(0.1) && !world.faults.isOver;
    const since = world.seconds;
    const message = await this.#send("tools/call", {
      name,
      ...name === "balance" && { arguments: { leads } },
    });
    if (!message) return;
    const text: string = message.result?.content?.[0]?.text ?? "";
    if (text === `200 ${person.name}`) return;
    const service = ACTING[name];
    // A token that is refused is renewed, at the latest by the next call.
    if (/^401|does not give access now/.test(text) && service !== "bank") {
      const process = this.#answerers.get(message)!;
      world.services[service].checkRefusal(person.name, process, since);
    }
    const named = /\bperson\d+/.exec(text)?.[0] ?? person.name;
    if (named !== person.name) {
      world.breaks(`${name} of ${person.name} acted as ${named}`);
    }
    const link = /^http\S*\/connect\/\S*$/m.exec(text)?.[0];
    if (!link) return;
    const { accounts, changesBegun } = person;
    const isLost = service !== "bank" &&
      world.services[service].isLost(person.name);
    const isSame = before === changesBegun && accounts[service].isThere;
    if (isSame && !isLost) {
      world.breaks(`the account of ${person.name} is gone: ${text}`);
    }
    await person.connect(link);
  }

  /** Uses a refresh token that was exchanged long ago, as a thief does. */
  async #useTwice(): Promise<void> {
    const grant = this.#grant;
    if (!grant) return;
    const { refresh } = grant;
    await this.#refresh();
    if (grant.refresh === refresh) return;
    await this.#call();
    await this.world.sleep(100);
    if (grant.refresh === refresh || grant !== this.#grant) return;
    this.#end(grant);
    const { status, body } = await this.#client!.refresh(refresh);
    if (status === 200 && body.refresh_token !== grant.refresh) {
      this.world.breaks("a used refresh token was exchanged again");
    }
  }

  async #revoke(): Promise<void> {
    const grant = this.#grant;
    if (!grant) return;
    const works = this.#works.map(({ order }) => order);
    const { access } = grant;
    this.#end(grant);
    const body = new URLSearchParams({
      token: grant.refresh,
      client_id: this.#client!.clientId,
    });
    const { status } = await this.#sender.fetch("/revoke", {
      method: "POST",
      body: `${body}`,
      headers: FORM,
    });
    if (status !== 200) this.world.breaks(`/revoke was answered ${status}`);
    grant.endedAt = this.world.seconds;
    for (const order of works) order.forbiddenAt = grant.endedAt;
    await this.world.sleep(this.random.between(1.01, 3));
    const headers = { authorization: `Bearer ${access}` };
    const response = await this.#sender.call("tools/call", { name: "whoami" }, {
      headers,
      capabilities,
    });
    if (response.status === 200) {
      this.world.breaks(
        `a call was answered ${
          (this.world.seconds - grant.endedAt).toFixed(2)
        } s after /revoke`,
      );
    }
  }

  /** The work and the payments that have not ended, in words. */
  get unfinished(): string[] {
    const works = this.#works.map(({ id, order }) => `${id} (${order.parts})`);
    return [...works, ...Array.from(this.#payments, ({ name }) => name)];
  }
}

/** The services at which tools act. */
const ACTING = { profile: "crm", elsewhere: "other", balance: "bank" } as const;

const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** Parses the messages of an answer, from JSON or a stream. */
function parse(text: string): Json[] {
  if (text.startsWith("{")) return [JSON.parse(text)];
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) =>
    JSON.parse(data)
  );
}
