/**
 * The world of a simulation: processes of the server on one database, behind
 * a proxy that sends each request to any of them; a sign-in provider,
 * services at which people have accounts; and what happens to all of them.
 *
 * @module
 */
import type { LogEvent } from "../../src/core/log/log.ts";
import type { ServerOptions } from "../../src/core/server/server_options.ts";
import type { ServerDefinitions } from "../../src/core/catalogue/compiled_definitions.ts";
import type { OAuthAccount, PersonalKey } from "../../src/mod.ts";
import type { Kv } from "../../src/core/kv/kv.ts";
import { SECRETS_KEY } from "../kit/key_service.ts";
import { BASE_URL } from "../kit/server.ts";
import { EVENTS, type Fault, Faults, type Simulation } from "./faults.ts";
import { FaultyDatabase } from "./faulty_database.ts";
import { Random } from "./random.ts";
import { type Owner, Scheduler } from "./scheduler.ts";
import { type Answer, CutError, ServerProcess } from "./server_process.ts";
import { StrictKeys } from "./strict_keys.ts";
import { StrictMcp } from "./strict_mcp.ts";
import { StrictProvider } from "./strict_provider.ts";
import { StrictService } from "./strict_service.ts";

/** The longest way of a request, or of its answer. */
const WAY_MILLISECONDS = 20;
/** The time after which a proxy gives a request up. */
const PROXY_MILLISECONDS = 60_000;
/** The mean time between two faults of the whole, divided by their share. */
const EVENT_MILLISECONDS = 150;

/** An end is obeyed within this time, everywhere. */
export const OBEYED_SECONDS = 1;

/** The weights of {@linkcode Faults.strikes} at each read and commit. */
const AT_READ = 0.2;
const AT_COMMIT = 4;

/** The moments at which an event matters most, by the records of a commit. */
const MOMENTS: Partial<Record<typeof EVENTS[number], RegExp>> = {
  // Meanwhile an erasure may go on, or an answer come.
  stop: /account,account$|task-run,-task-lease/,
  // Another process must tell the service.
  death: /-revocation,revocation/,
};
const AT_MOMENT = 4;
/** The commit that parks a run. */
const PARKS = /task-run,-task-lease/;
/** The weight of a stop as a run is parked whose webhook is then answered. */
const AT_PARKING = 100;

/** A sound process has released the lease of an account within this time. */
const RELEASED_SECONDS = 20;

/** A fault that awaits the first operation or exchange of a kind. */
interface Trap {
  fault: Fault;
  at: RegExp;
}

/** A promise of the documentation that does not hold. */
export class BrokenPromise extends Error {
  override name = "BrokenPromise";
}

/** Makes the definitions of a release. */
export type Release = (
  world: World,
  version: number,
) => ServerDefinitions & Pick<ServerOptions, "routes">;

/** The answer that a process was given by another server. */
export interface Issued {
  process: ServerProcess;
  at: number;
}

export class World implements Disposable {
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly database: FaultyDatabase;
  readonly provider: StrictProvider;
  readonly services: { crm: StrictService; other: StrictMcp; bank: StrictKeys };
  /** These, as the tools declare them. */
  readonly declared: {
    crm: OAuthAccount;
    other: ReturnType<StrictMcp["server"]>;
    bank: PersonalKey;
  };
  readonly random: Random;
  processes: ServerProcess[] = [];
  /** The people who are blocked, and since when. */
  readonly blocked = new Map<string, number>();
  /** The time at which an exchange with an origin was lost last. */
  readonly lostAt = new Map<string, number>();
  /** The same, by the process that asked. */
  readonly lostBy = new Map<ServerProcess, number>();
  /** Answers a webhook of a task at once. */
  readonly webhooks = new Map<string, () => void>();
  /** The first promise that was broken. */
  broken?: BrokenPromise;
  /** The time at which the last fault ended. */
  wellSince = Infinity;
  /** The time of the last death or end of a process. */
  #troubledAt = 0;
  /** The greatest lead that the clock of any process has had. */
  #mostAheadMilliseconds = 0;
  readonly #traps = new Set<Trap>();
  #count = 0;
  #release = 1;
  /** The repeated refreshes that have no answer yet, or were a reuse. */
  readonly #repeats = new Set<{ clientId: string; at: number }>();
  readonly #fetch = globalThis.fetch;
  readonly #stray = (event: PromiseRejectionEvent) => {
    event.preventDefault();
    const { reason } = event;
    // A refusal has no stack.
    this.breaks(
      `a rejection that nothing handles: ${
        reason?.stack ?? Deno.inspect(reason)
      }`,
    );
  };

  constructor(
    readonly simulation: Simulation,
    private readonly release: Release,
    kv: Deno.Kv,
  ) {
    const { seed } = simulation;
    const scheduler = this.scheduler = new Scheduler(seed);
    this.faults = new Faults(simulation);
    const random = this.random = new Random(seed, "world");
    this.database = new FaultyDatabase(
      kv as unknown as Kv,
      scheduler,
      this.faults,
      new Random(seed, "database"),
      (owner) => this.#trouble(owner),
      (owner, label, taskId) =>
        this.#strike(owner as ServerProcess, label, taskId),
      (words) => this.breaks(words),
      random.chance(0.5),
    );
    this.provider = new StrictProvider(this);
    const crm = new StrictService(this);
    const other = new StrictMcp(this);
    const bank = new StrictKeys(this);
    this.services = { crm, other, bank };
    this.declared = {
      crm: crm.declare(),
      other: other.server(),
      bank: bank.declare(),
    };
    globalThis.fetch = (input, init) =>
      this.#answerFetch(new Request(input, init));
    addEventListener("unhandledrejection", this.#stray);
    const count = 2 + random.below(3);
    for (let n = 0; n < count; n++) this.#start();
    for (const event of EVENTS) this.#plan(event);
  }

  /** The time in seconds since the start. */
  get seconds(): number {
    return this.scheduler.milliseconds / 1000;
  }

  /** Notes that a promise does not hold: the simulation ends. */
  breaks(words: string): void {
    const { but } = this.simulation;
    if (but && new RegExp(but).test(words)) return;
    this.broken ??= new BrokenPromise(
      `after ${this.seconds.toFixed(3)} s: ${words}`,
    );
  }

  /** Checks that what begins for a person is not of one who is blocked. */
  begins(subject: string, words: string): void {
    const at = this.blocked.get(subject);
    this.obeys(this.process, `began ${words}`, `${subject} was blocked`, at);
  }

  /**
   * Checks that a process in no trouble does nothing after an end.
   *
   * @param did its act now, in words
   * @param at the time of the end; undefined if there was none
   */
  obeys(
    process: ServerProcess,
    did: string,
    end: string,
    at = Infinity,
  ): void {
    const passed = this.seconds - at;
    if (passed <= OBEYED_SECONDS) return;
    if (!this.isSound(process, passed + OBEYED_SECONDS)) return;
    this.breaks(`${process.name} ${did} ${passed.toFixed(2)} s after ${end}`);
  }

  /** Checks that no process in no trouble keeps the lease of an account. */
  checkLeases(): void {
    for (const { owner, at } of this.database.leases) {
      const passed = this.seconds - at;
      const process = owner as ServerProcess;
      if (passed < RELEASED_SECONDS || process.isDead || process.isEnding) {
        continue;
      }
      if (!this.isSound(process, RELEASED_SECONDS)) continue;
      this.breaks(
        `${owner.name} has the lease of an account for ${
          Math.round(passed)
        } s, and does not refresh its tokens`,
      );
    }
  }

  /** True if a time, in epoch seconds, may have passed by the clock of a process. */
  mayBePast(expiresAt: number): boolean {
    const latest = this.scheduler.clock + this.#mostAheadMilliseconds;
    return latest >= expiresAt * 1000;
  }

  /** Waits, in the world. */
  sleep(seconds: number): Promise<void> {
    return this.scheduler.sleep(seconds * 1000);
  }

  /** The process in which code of ours runs now. */
  get process(): ServerProcess {
    return this.scheduler.owner as ServerProcess;
  }

  /** True if nothing has troubled a process for some seconds. */
  isSound(process: ServerProcess, seconds: number): boolean {
    const since = this.scheduler.milliseconds - seconds * 1000;
    const { awayUntil, stalledUntil } = this.database;
    return process.troubledAt < since && awayUntil < since &&
      stalledUntil < since;
  }

  /** True if a process may not have written down that its answer was a 503. */
  mayOwe({ process, at }: Issued): boolean {
    return process.isDead || process.isEnding ||
      process.stoppedUntil > at * 1000;
  }

  /** True if nothing has troubled any process for some seconds. */
  isQuiet(seconds: number): boolean {
    return this.seconds - this.#troubledAt > seconds &&
      this.processes.every((process) => this.isSound(process, seconds));
  }

  /**
   * Checks that trouble excuses the second use of what counts once: the process
   * that was given the answer to the first has lost it, or could not store it.
   */
  excuse(words: string, { process, at }: Issued): void {
    if (!this.isSound(process, this.seconds - at + 1)) return;
    this.breaks(
      `${words} was used twice, first by ${process.name} ${
        (this.seconds - at).toFixed(3)
      } s before`,
    );
  }

  /**
   * Follows a repeated refresh. If its process does nothing for a while, the
   * client may refresh again before: the repeat is then a reuse, which ends the
   * grant.
   */
  async #follow(repeat: Promise<Answer>, body: string): Promise<void> {
    const clientId = new URLSearchParams(body).get("client_id")!;
    const sent = { clientId, at: this.seconds };
    this.#repeats.add(sent);
    const answer = await repeat.catch(() => undefined);
    const isReuse = this.seconds > sent.at + 1 &&
      /used before/.test(answer?.text ?? "");
    if (!isReuse) this.#repeats.delete(sent);
  }

  /** True if a repeated refresh of a client was, or may have been, a reuse. */
  mayHaveReused(client: { clientId: string }): boolean {
    return [...this.#repeats].some(({ clientId, at }) =>
      clientId === client.clientId && this.seconds > at + 1
    );
  }

  /**
   * Sends a request to any process.
   *
   * @param onSent is given what settles once a process no longer works on it
   * @param last the process to which a connection may be open
   * @throws {CutError} when no answer comes
   */
  async send(
    url: string,
    init: RequestInit,
    onSent: (sent: Promise<Answer>) => void = () => {},
    last?: ServerProcess,
  ): Promise<Answer> {
    const { random, faults } = this;
    const way = random.next() * WAY_MILLISECONDS;
    const cut = async (): Promise<never> => {
      await this.sleep(random.between(0, 5));
      throw new CutError("the request or its answer was lost");
    };
    const open = this.processes.filter(({ isDead, isEnding }) =>
      !isDead && !isEnding
    );
    if (open.length === 0) return await cut();
    const isKept = open.includes(last!) && random.chance(0.5);
    const process = isKept ? last! : random.pick(open);
    const isCut = faults.strikes("cut");
    if (isCut && faults.of("cut").chance(0.3)) return await cut();
    let isGone = false;
    const sent = process.send(url, init, { way, isGone: () => isGone });
    onSent(sent);
    // The second use of a code ends the sign-in, and that of nothing else.
    const hasCode = `${init.body}`.includes("grant_type=authorization_code");
    if (!hasCode && faults.strikes("repetition")) {
      const again = random.pick(open).send(url, init, {
        way: way + random.next() * 50,
      });
      void this.#follow(again, `${init.body}`);
      onSent(again);
    }
    const late = Promise.withResolvers<never>();
    const timer = this.scheduler.plan(
      PROXY_MILLISECONDS,
      "proxy",
      () => late.reject(new CutError("the proxy gave up")),
    );
    try {
      const answer = await Promise.race([sent, late.promise]);
      if (isCut) await cut();
      if (answer.status === 500) {
        this.breaks(`${init.method} ${url} was answered 500: ${answer.text}`);
      }
      return answer;
    } finally {
      isGone = true;
      late.promise.catch(() => {});
      this.scheduler.cancel(timer);
    }
  }

  /** Ends all faults, and lets every process go on. */
  heal(): void {
    this.faults.isOver = true;
    const { database, scheduler } = this;
    database.heal();
    this.wellSince = this.seconds;
    for (const process of this.processes) {
      scheduler.resume(process);
      process.troubledAt = Math.min(
        process.troubledAt,
        scheduler.milliseconds,
      );
      process.aheadMilliseconds = 0;
    }
  }

  /**
   * Lets a fault happen to the first operation or exchange of a kind, if it may.
   * Returns what takes it back.
   */
  trap(fault: Fault, at = /^/): () => void {
    const trap = { fault, at };
    if (this.faults.mayHappen(fault)) this.#traps.add(trap);
    return () => void this.#traps.delete(trap);
  }

  /** True if a fault awaited what happens now. */
  springs(fault: Fault, label = ""): boolean {
    const trap = [...this.#traps].find((trap) =>
      trap.fault === fault && trap.at.test(label)
    );
    if (trap) this.#note();
    return this.#traps.delete(trap!);
  }

  #trouble(owner: Owner): void {
    const process = owner as ServerProcess;
    const { milliseconds } = this.scheduler;
    // One that is stopped stays so.
    process.troubledAt = Math.max(process.troubledAt, milliseconds);
  }

  /** Notes that something happens to the whole. */
  #note(): void {
    this.#troubledAt = this.seconds;
    if (this.faults.isOver) this.wellSince = this.seconds;
  }

  #start(): void {
    this.#note();
    const { faults, database, provider, release } = this;
    if (faults.strikes("release", 100)) this.#release++;
    const process = new ServerProcess(`p${++this.#count}`, this.scheduler, {
      kv: (owner) => database.handleOf(owner),
      provider,
      definitions: release(this, this.#release),
      env: {
        BASE_URL,
        AUTH_STRATEGY: "oauth",
        OAUTH_PROVIDER: "github",
        OAUTH_CLIENT_ID: "our-client",
        OAUTH_CLIENT_SECRET: "our-secret",
        SECRETS_KEYS: SECRETS_KEY,
        ...this.services.crm.environment,
      },
      onLog: (owner, event) => this.#read(owner, event),
    });
    this.processes = this.processes.filter(({ isDead }) => !isDead);
    this.processes.push(process);
  }

  /** Passes events of the log on to those who look for a fault. */
  #read(owner: ServerProcess, { level, message, properties }: LogEvent): void {
    this.scheduler.onStep?.(
      `${owner.name} logs ${level} ${message} ${
        Deno.inspect(properties, { breakLength: Infinity, depth: 6 })
      }`,
    );
  }

  /** Lets a fault of the whole happen again and again. */
  #plan(event: (typeof EVENTS)[number]): void {
    const { faults, scheduler } = this;
    const share = faults.shares.get(event);
    if (share === undefined) return;
    const random = faults.of(event);
    const mean = EVENT_MILLISECONDS / share;
    const milliseconds = -Math.log(1 - random.next()) * mean;
    scheduler.plan(milliseconds, event, () => {
      if (faults.isOver) return;
      this.#happen(event, random);
      this.#plan(event);
    });
  }

  /** Lets a fault of the whole happen as a process begins an operation. */
  #strike(process: ServerProcess, label: string, taskId = ""): void {
    if (/task-run.*task-lease|task-lease.*task-run/.test(label)) {
      this.#resumeOther(process);
    }
    const answer = PARKS.test(label) ? this.webhooks.get(taskId) : undefined;
    if (answer && this.faults.strikes("stop", AT_PARKING)) {
      this.#stop(process, this.faults.of("stop").between(10_000, 25_000));
      answer();
    }
    const usual = label.startsWith("commit") ? AT_COMMIT : AT_READ;
    const weight = usual * this.faults.weightOf(label);
    for (const event of EVENTS) {
      const at = MOMENTS[event]?.test(label) ? AT_MOMENT : 1;
      const isStruck = this.springs(event, label) ||
        this.faults.strikes(event, weight * at);
      if (!isStruck) continue;
      // The world plans the rest: the process may die.
      this.scheduler.as(
        undefined,
        () => this.#happen(event, this.faults.of(event), process),
      );
    }
  }

  /** Lets another process go on at the moment at which its work is taken. */
  #resumeOther(process: ServerProcess): void {
    const { scheduler, faults } = this;
    const stopped = this.processes.find((other) =>
      other !== process && !other.isDead &&
      other.stoppedUntil > scheduler.milliseconds
    );
    if (stopped && !faults.isOver && faults.of("stop").chance(0.3)) {
      scheduler.resume(stopped);
    }
  }

  #happen(
    event: (typeof EVENTS)[number],
    random: Random,
    process?: ServerProcess,
  ): void {
    const { database, scheduler } = this;
    const time = scheduler.milliseconds;
    this.#note();
    const alive = this.processes.filter(({ isDead }) => !isDead);
    process ??= alive.length > 0 ? random.pick(alive) : undefined;
    switch (event) {
      case "outage":
        database.failOver();
        break;
      case "stall":
        database.stalledUntil = time + 10 ** random.between(2, 4.6);
        break;
      case "storm":
        this.faults.isStorm = true;
        scheduler.plan(
          random.between(1000, 10_000),
          "calm",
          () => this.faults.isStorm = false,
        );
        break;
      case "stop":
        if (!process) break;
        // Within a lease in every third case, and longer in another.
        this.#stop(
          process,
          random.pick([
            10 ** random.between(2, 4),
            random.between(10_000, 30_000),
            random.between(30_000, 100_000),
          ]),
        );
        break;
      case "clock":
        if (!process) break;
        process.aheadMilliseconds = random.between(-1, 1) *
          10 ** random.between(2, 5);
        this.#mostAheadMilliseconds = Math.max(
          this.#mostAheadMilliseconds,
          process.aheadMilliseconds,
        );
        this.#trouble(process);
        break;
      case "restart":
        if (!process || process.isEnding) break;
        void process.end(10 ** random.between(1, 4));
        scheduler.plan(
          10 ** random.between(1, 4),
          "start",
          () => this.#start(),
        );
        break;
      case "death":
        if (!process) break;
        process.die();
        scheduler.plan(
          10 ** random.between(1, 4),
          "start",
          () => this.#start(),
        );
    }
  }

  #stop(process: ServerProcess, milliseconds: number): void {
    this.#note();
    process.stoppedUntil = Math.max(
      process.stoppedUntil,
      this.scheduler.milliseconds + milliseconds,
    );
    process.troubledAt = process.stoppedUntil;
  }

  /** Answers a request of a process to a service. */
  #answerFetch(request: Request): Promise<Response> {
    const { scheduler, services } = this;
    const { origin, pathname } = new URL(request.url);
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    request.signal.addEventListener(
      "abort",
      () => reject(request.signal.reason),
    );
    const owner = scheduler.owner;
    const asked = Object.values(services).find((it) => it.origin === origin);
    if (!asked) {
      reject(new TypeError(`nothing is at ${origin}`));
      return promise;
    }
    this.exchange(
      pathname,
      async () => {
        if (asked !== services.bank) await services.bank.checkOther(request);
        const answer = await asked.serve(request, owner as ServerProcess);
        const location = answer.headers.get("location");
        if (!location || request.redirect === "manual") return answer;
        return await this.#answerFetch(new Request(location, request));
      },
      owner,
      () => {
        this.lostAt.set(origin, this.seconds);
        this.lostBy.set(owner as ServerProcess, this.seconds);
        // The database may be away for the same reason.
        const isAway = pathname === "/token" &&
          this.faults.mayHappen("outage");
        if (isAway && this.faults.of("outage").chance(0.5)) {
          this.database.failOver();
        }
      },
    )
      .then(resolve, reject);
    return promise;
  }

  /**
   * Lets another server do something for a process, which may not learn of it.
   *
   * @throws {TypeError} when the request or the answer was lost
   */
  exchange<T>(
    label: string,
    act: () => T | Promise<T>,
    owner = this.scheduler.owner,
    onLost: () => void = () => {},
  ): Promise<T> {
    const { scheduler, faults, random } = this;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const way = () => random.next() * WAY_MILLISECONDS;
    const isLost = this.springs("silence", label) ||
      faults.strikes("silence", 10);
    if (isLost) onLost();
    const isLostBefore = isLost &&
      (faults.isOver || faults.of("silence").chance(0.5));
    const wait = isLost ? faults.of("silence").between(0, 12_000) : way();
    const answer = (act: () => void) =>
      scheduler.plan(wait, `${label} is answered`, act, owner);
    const lose = () =>
      answer(() => {
        onLost();
        reject(new TypeError("connection reset"));
      });
    scheduler.as(undefined, () =>
      scheduler.plan(way(), label, async () => {
        if (isLostBefore) return lose();
        try {
          const result = await act();
          if (isLost) {
            if (owner) this.#trouble(owner);
            return lose();
          }
          answer(() => resolve(result));
        } catch (error) {
          answer(() => reject(error));
        }
      }));
    return promise;
  }

  [Symbol.dispose](): void {
    globalThis.fetch = this.#fetch;
    removeEventListener("unhandledrejection", this.#stray);
    this.scheduler[Symbol.dispose]();
  }
}
