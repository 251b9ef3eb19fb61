/**
 * People in a simulation: their browsers, and what they do on our pages.
 *
 * @module
 */
import assert from "node:assert/strict";
import { AccountVisitor, formOf } from "../kit/account_visitor.ts";
import { type Arrival, Browser } from "../kit/browser.ts";
import { Database } from "../../src/core/kv/database.ts";
import { accountKey } from "../../src/core/kv/keys.ts";
import { PROVIDER_URL } from "../kit/fake_provider.ts";
import { openRegister } from "../../packages/operate/register.ts";
import { silentLogger } from "../kit/log.ts";
import { BASE_URL } from "../kit/server.ts";
import type { ServiceGrant } from "../kit/token_service.ts";
import type { App } from "./app.ts";
import { OPERATOR } from "./faulty_database.ts";
import type { Payment } from "./payments.ts";
import { CutError } from "./server_process.ts";
import type { World } from "./world.ts";

const CONNECT = `${BASE_URL}/connect/`;
const DATA = `${BASE_URL}/account/data`;
const ERASE = "/account/erase";
/** The paths of requests that change accounts. */
const CHANGES = /^\/connect\/|\/disconnect$|\/erase$/;

/**
 * The times that a person tries a page. Their pauses must be over before a
 * simulation gives up, or it does not tell which page it was.
 */
const TRIES = 40;

/** Pages after an answer; in the end nothing waits any more. */
const ANSWERED = /Your answer has arrived|You said|Nothing waits for you here/;

const NOTHING = "Nothing waits for you here";

/** The services at which people have accounts. */
type ServiceName = keyof World["services"];

const SERVICES: readonly ServiceName[] = ["crm", "other", "bank"];

/** An account of a person at a service. */
interface OwnAccount {
  /** True once its person was told that it is connected, and nothing can end it. */
  isThere: boolean;
  /** The grant of it at its service, if that is certain. */
  grant?: ServiceGrant;
}

export class Person {
  readonly accounts: Record<ServiceName, OwnAccount> = {
    crm: { isThere: false },
    other: { isThere: false },
    bank: { isThere: false },
  };
  readonly apps: App[] = [];
  /** True once this person uses the other MCP server no more. */
  hasLeft = false;
  /** The number of times that this person began to erase everything. */
  erasures = 0;
  /** The number of erasures that are under way. */
  #erasing = 0;
  /**
   * Requests for changes on which a process works. One that stands still may
   * do so long after the person was told the end of another try.
   */
  readonly #open = new Set<{ pathname: string }>();
  #isPausing = false;
  /** The browser of their last visit. */
  #browser: Browser;
  /** Settles once an erasure during which nothing else changes is over. */
  #alone?: Promise<void>;
  /** The number of changes to accounts that are under way. */
  #changes = 0;
  changesBegun = 0;

  /** The subject by which the server knows this person. */
  readonly subject: string;

  constructor(readonly world: World, readonly name: string) {
    this.subject = `github:${name}`;
    this.#browser = this.browser();
  }

  /** True if no change to an account is under way. */
  get isSettled(): boolean {
    return this.#changes === 0 && this.#open.size === 0;
  }

  /** True if an erasure is under way, or an earlier try of one. */
  get isErasing(): boolean {
    return this.#erasing > 0 ||
      [...this.#open].some(({ pathname }) => pathname === ERASE);
  }

  /** Opens a new browser of this person, who tries again when a page is away. */
  browser(): Browser {
    const { world, name } = this;
    return new Browser(({ origin }) => {
      if (origin === PROVIDER_URL) {
        return ({ url }) => {
          const location = world.provider.authorize(new URL(url), name);
          return Promise.resolve(redirectTo(location));
        };
      }
      const { crm, other } = world.services;
      for (const service of [crm, other]) {
        if (origin !== service.origin) continue;
        return (request) => {
          service.account = name;
          return service.serve(request);
        };
      }
      if (origin !== BASE_URL) return undefined;
      return async (request) => {
        const { method, url, headers } = request;
        const { pathname } = new URL(url);
        const onSent = async (sent: Promise<unknown>) => {
          if (!CHANGES.test(pathname)) return;
          const open = { pathname };
          this.#open.add(open);
          await sent.catch(() => {});
          this.#open.delete(open);
        };
        const body = method === "POST" ? await request.text() : undefined;
        const answer = await insist(
          world,
          () => world.send(url, { method, headers, body }, onSent),
        );
        const text = answer.text === "" ? null : answer.text;
        return new Response(text, answer);
      };
    });
  }

  /** Does something on pages, from the beginning if it must be. */
  async visit<T>(
    words: string,
    act: (browser: Browser) => Promise<T | undefined>,
  ): Promise<T> {
    for (let tries = 0; tries < TRIES; tries++) {
      // In a new browser no one is signed in; in a kept one the sign-in may have
      // ended.
      const isKept = tries === 0 && this.world.random.chance(0.8);
      if (!isKept) this.#browser = this.browser();
      const done = await act(this.#browser).catch((error) => {
        // A page that is not the one that was expected.
        if (error?.name !== "AssertionError") throw error;
        this.world.scheduler.onStep?.(
          `${this.name} could not ${words}: ${error.message.slice(0, 3000)}`,
        );
      });
      if (done !== undefined) return done;
      await this.world.sleep(1 + tries);
    }
    this.world.breaks(`${this.name} could not ${words}`);
    return await new Promise(() => {});
  }

  /** Signs in to the account page, and opens another page. */
  async open(browser: Browser, url = `${BASE_URL}/account`): Promise<Arrival> {
    const page = await browser.open(`${BASE_URL}/account`);
    if (page.text.includes('action="/account/sign-in"')) {
      const visitor = new AccountVisitor(browser, page);
      await visitor.press("/account/sign-in");
    }
    return await browser.open(url);
  }

  /** Answers a question on its page. Returns false if nothing waits there. */
  async answer(link: string): Promise<boolean> {
    return await this.visit("answer on a page", async (browser) => {
      const page = await this.open(browser, link);
      if (ANSWERED.test(page.text)) return !page.text.includes(NOTHING);
      const visitor = new AccountVisitor(browser, page);
      const path = new URL(link).pathname;
      const { text } = await visitor.press(path, { answer: "done" });
      return ANSWERED.test(text) ? !text.includes(NOTHING) : undefined;
    });
  }

  /**
   * Answers all that the account page lists, from time to time. Work whose
   * client lost the answer with its ID is found nowhere else, and takes the
   * place of other questions until then.
   */
  async #answerListed(): Promise<never> {
    for (;;) {
      const paths = await this.visit("look at what waits", async (browser) => {
        const { text } = await this.open(browser);
        assert.match(text, /"\/account\/sign-out"/);
        return [...text.matchAll(/href="(\/wait\/[^"]+)"/g)];
      });
      for (const [, path] of paths) await this.answer(BASE_URL + path);
      await this.world.sleep(120);
    }
  }

  /** Presses "Approve" on the page of another person, if it is there. */
  async #intrude(link: string): Promise<void> {
    await this.visit("open the page of another", async (browser) => {
      const page = await this.open(browser, link);
      if (!page.text.includes('value="approve"')) return true;
      const form = formOf(page, new URL(link).pathname);
      await browser.press(form, "answer", "approve");
      return true;
    });
  }

  /** Decides about a payment on its page. */
  async decide(payment: Payment, link: string): Promise<void> {
    const { world } = this;
    const path = new URL(link).pathname;
    if (world.random.chance(0.05) && !world.faults.isOver) {
      await new Person(world, "stranger").#intrude(link);
    }
    await this.visit("approve a payment", async (browser) => {
      const page = await this.open(browser, link);
      // Its connection has ended, or the time for it is over.
      if (page.text.includes("Nothing waits for you here")) return true;
      const visitor = new AccountVisitor(browser, page);
      if (page.text.includes('value="looked"')) {
        if (world.random.chance(0.5)) return true;
        payment.looks++;
        await visitor.press(path, { answer: "looked" });
        return true;
      }
      if (!page.text.includes('value="approve"')) {
        if (page.text.includes("Approved. ")) payment.approved.add(link);
        return true;
      }
      const isRefused = page.text.includes("<title>Refused");
      if (isRefused) return true;
      const isDone = page.text.includes("It was done.");
      if (payment.isUnwanted || isDone) {
        await visitor.press(path, { answer: "refuse" });
        return true;
      }
      payment.pressed.add(link);
      const { allowance } = payment;
      const ticks = payment.isSmall && world.random.chance(0.7);
      if (ticks) {
        allowance.tickedAt = world.seconds;
        allowance.toldAt = allowance.endedAt = undefined;
      }
      const { text } = await browser.press(
        formOf(page, path),
        "answer",
        "approve",
        {},
        ticks ? [] : ["on"],
      );
      if (ticks) allowance.toldAt = world.seconds;
      if (text.includes("Approved. ")) payment.approved.add(link);
      return true;
    });
  }

  /** Lets every payment wait again. */
  async endAllowances(): Promise<void> {
    const { world, apps } = this;
    const action = "/account/remembered";
    await this.visit("end what runs without asking", async (browser) => {
      const page = await this.open(browser);
      const [, label] = /name="label" value="(\w+)"/.exec(page.text) ?? [];
      const { allowance } = apps.find(({ name }) => name === label) ?? {};
      const { tickedAt, toldAt } = allowance ?? {};
      const next = await pressed(browser, page, action);
      if (next === undefined) return true;
      // A press of another tab may have allowed it again meanwhile.
      const isSame = toldAt !== undefined && allowance!.tickedAt === tickedAt;
      if (isSame && next.includes("waits for you again")) {
        allowance!.endedAt = world.seconds;
      }
    });
  }

  /** Pauses all connections, and resumes them a while later. */
  async pause(): Promise<void> {
    const { world, apps } = this;
    if (this.#isPausing) return;
    this.#isPausing = true;
    const pauses = apps.map((app) => app.mayPause());
    const all = (action: string) =>
      this.visit(`press ${action} for all`, async (browser) => {
        const page = await this.open(browser);
        return await pressed(browser, page, action) === undefined || undefined;
      });
    await all("/account/pause");
    for (const { begin } of pauses) begin();
    await world.sleep(world.random.between(1.5, 6));
    for (const { end } of pauses) end();
    await all("/account/resume");
    for (const { over } of pauses) over();
    this.#isPausing = false;
  }

  /** Connects the account to whose page a link leads. */
  async connect(link: string): Promise<void> {
    const { world, name } = this;
    const service = serviceOf(link);
    await this.#alone;
    await this.#change(async (_isAlone, isCertain) => {
      let key = "";
      const end = await this.visit("connect an account", async (browser) => {
        const page = await this.open(browser, link);
        if (ANSWERED.test(page.text)) return "over";
        const visitor = new AccountVisitor(browser, page);
        if (service === "bank") key = world.services.bank.make(name);
        const path = `/connect/${service}`;
        await visitor.press(path, { answer: "connect", ...key && { key } });
        const { text } = await visitor.press(path, { answer: "connect" });
        return /is connected|Connected as/.test(text) ? "connected" : undefined;
      });
      if (end === "over") return;
      const account = this.accounts[service];
      account.isThere = isCertain();
      if (service === "bank") {
        if (isCertain()) world.services.bank.expectEnd(name, key);
        return;
      }
      account.grant = isCertain()
        ? world.services[service].grantOf(name)
        : undefined;
    });
  }

  /**
   * Allows it at the service, up to the page that names the account. Undefined if
   * the call that wanted it has gone on.
   */
  async #wayBack(browser: Browser): Promise<AccountVisitor | undefined> {
    const page = await this.open(browser, `${CONNECT}crm`);
    if (ANSWERED.test(page.text)) return;
    const visitor = new AccountVisitor(browser, page);
    await visitor.press("/connect/crm", { answer: "connect" });
    return visitor;
  }

  /** Disconnects one. */
  async disconnect(
    service = this.world.random.pick(SERVICES),
  ): Promise<void> {
    const { world, name } = this;
    await this.#alone;
    await this.#change(async (isAlone, isCertain) => {
      await this.visit("disconnect an account", async (browser) => {
        const page = await this.open(browser, `${BASE_URL}/account/accounts`);
        assert.match(page.text, /"\/account\/sign-out"/);
        const action = "/account/accounts/disconnect";
        const row = page.text.split(/<li>|<\/li>/).find((text) =>
          text.includes(`/connect/${service}"`) && text.includes(action)
        );
        if (row === undefined) return true;
        const visitor = new AccountVisitor(browser, { ...page, text: row });
        // Another app may connect it again at once: it was disconnected all the
        // same, as the next page says.
        const { text } = await visitor.press(action);
        return text.includes("No tool acts with it any more") || undefined;
      });
      const { grant } = this.accounts[service];
      if (service === "bank") {
        if (isCertain()) world.services.bank.expectEnd(name);
      } else if (grant && isAlone()) {
        world.services[service].expectEnd(grant);
      }
      this.#lose(service);
    });
  }

  /**
   * Disconnects an account for good, as the last process dies that revokes it.
   * The last refresh of the tokens of another fails.
   */
  async leave(): Promise<void> {
    const { world } = this;
    this.hasLeft = true;
    await this.connect(`${CONNECT}crm`);
    await this.connect(`${CONNECT}other`);
    world.trap("death", /-revocation,revocation/);
    await this.disconnect("other");
    if (world.random.chance(0.5)) world.trap("amnesia");
    else world.trap("silence", /^\/token$/);
    await this.#answerListed();
  }

  /** Notes that accounts are not there any more. */
  #lose(...services: readonly ServiceName[]): void {
    for (const service of services) this.accounts[service] = { isThere: false };
  }

  /** An operator blocks this person, and lifts that a while later. */
  async block(): Promise<void> {
    const { world, world: { random }, subject, apps } = this;
    if (world.blocked.has(subject)) return;
    await this.#alone;
    await this.#change(async () => {
      this.erasures++;
      this.#erasing++;
      const ends = apps.map((app) => app.mayEnd());
      const { blocks, endPerson } = openRegister(
        new Database(world.database.handleOf(OPERATOR)),
        silentLogger,
      );
      await blocks.block(subject, { by: "operator" });
      world.blocked.set(subject, world.seconds);
      // The command may die before it has ended anything.
      if (random.chance(0.5)) {
        await endPerson(subject);
        for (const end of ends) end();
      }
      await world.sleep(random.between(1.5, 15));
      world.blocked.delete(subject);
      await blocks.lift(subject);
      this.#lose(...SERVICES);
    });
    // Each process learns of it within a second.
    void world.sleep(60).then(() => this.#erasing--);
  }

  /** Erases everything of this person, mostly while nothing else changes. */
  async erase(): Promise<void> {
    const { world } = this;
    if (this.#alone || world.random.chance(0.2)) return await this.#erase();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#alone = promise;
    while (!this.isSettled) await world.sleep(1);
    await this.#erase();
    this.#alone = undefined;
    resolve();
  }

  /** Does so while another tab keeps an account, whose process may stop. */
  async #erase(): Promise<void> {
    const { world, apps, name, subject } = this;
    await this.#change(async (isAlone, isCertain) => {
      this.erasures++;
      this.#erasing++;
      const ends = apps.map((app) => app.mayEnd());
      const other = await this.visit(
        "open another tab",
        (browser) => this.#wayBack(browser),
      );
      const free = world.trap("stop", /^commit account,account/);
      let keeping: Promise<unknown> | undefined;
      await this.visit("erase everything", async (browser) => {
        await this.open(browser);
        const visitor = new AccountVisitor(browser, await browser.open(DATA));
        await visitor.press("/account/sign-in");
        keeping ??= world.sleep(world.random.between(0, 0.1)).then(() =>
          other.press("/connect/crm", { answer: "connect" })
        ).catch(() => {});
        const { text } = await visitor.press(ERASE, { erase: "on" });
        return /Erased/.test(text) || undefined;
      });
      this.#erasing--;
      for (const end of ends) end();
      await keeping;
      free();
      if (isCertain()) world.services.bank.expectEnd(name);
      await world.sleep(2);
      const prefix = accountKey(subject);
      const records = await Array.fromAsync(world.database.kv.list({ prefix }));
      // A deleted record may stay for a while, without anything in it.
      const left = records.some(({ value }) => "sealed" in Object(value));
      if (left && isAlone()) {
        world.breaks(`an account of ${name} is there after the erasure`);
      }
      this.#lose(...SERVICES);
    });
  }

  /**
   * @param change is given a function that is true if it was the only change,
   * and one that is true if no try of another was left either
   */
  async #change(
    change: (isAlone: () => boolean, isCertain: () => boolean) => Promise<void>,
  ): Promise<void> {
    const { isSettled } = this;
    const isFirst = this.#changes++ === 0;
    const begun = ++this.changesBegun;
    try {
      const isAlone = () => isFirst && begun === this.changesBegun;
      await change(
        isAlone,
        () => isSettled && isAlone() && this.#open.size === 0,
      );
    } finally {
      this.#changes--;
    }
  }
}

/** Names the service to whose page a link leads. */
function serviceOf(link: string): ServiceName {
  const [name] = new URL(link).pathname.split("/").slice(-1);
  const service = SERVICES.find((it) => it === name);
  assert(service, link);
  return service;
}

/** Presses the first form of a kind. Undefined if there is none any more. */
async function pressed(
  browser: Browser,
  page: Arrival,
  action: string,
): Promise<string | undefined> {
  assert.match(page.text, /"\/account\/sign-out"/);
  if (!page.text.includes(`action="${action}"`)) return;
  return (await new AccountVisitor(browser, page).press(action)).text;
}

function redirectTo(location: string): Response {
  return new Response(null, { status: 302, headers: { location } });
}

/** Repeats a request until it is answered, and not with 503. */
export async function insist<T extends { status: number }>(
  world: World,
  ask: () => Promise<T>,
): Promise<T> {
  for (let tries = 1;; tries++) {
    try {
      const answer = await ask();
      if (answer.status !== 503 && answer.status !== 429) return answer;
    } catch (error) {
      if (!(error instanceof CutError)) throw error;
    }
    await world.sleep(Math.min(5, tries) * world.random.next());
  }
}
