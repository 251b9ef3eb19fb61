/**
 * The time of a simulation: one queue of everything that is to happen. Timers,
 * clocks, random numbers and cryptography of the whole program belong to it
 * while it runs, so that the same seed does the same things in the same order.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { setImmediate } from "node:timers";
import { Random } from "./random.ts";

/** The date on which every simulation begins, in epoch milliseconds. */
const START_MILLISECONDS = Date.UTC(2026, 0, 1);

/** Turns of the event loop after which the code that went on has come to rest. */
const TURNS = 4;

/** A process whose code is held while it is stopped, and never goes on when it is dead. */
export interface Owner {
  readonly name: string;
  isDead: boolean;
  /** The time until which it is stopped, in milliseconds since the start. */
  stoppedUntil: number;
  /** The time by which its clock is ahead, in milliseconds. */
  aheadMilliseconds: number;
}

interface Happening {
  id: number;
  at: number;
  /** Decides between those of one time. */
  order: number;
  label: string;
  owner?: Owner;
  /** True if it was put off because its process is stopped. */
  isHeld?: boolean;
  act(): void;
}

/** An operation of the machine's own threads. */
interface External {
  owner?: Owner;
  settled: Promise<() => void>;
}

export class Scheduler implements Disposable {
  /** The time since the start. */
  milliseconds = 0;
  /** The number of happenings so far. */
  steps = 0;
  #trace = 0x811c9dc5;
  #nextId = 1;
  readonly #queue: Happening[] = [];
  readonly #waiting = new Map<number, Happening>();
  readonly #externals: External[] = [];
  readonly #random: Random;
  readonly #owners = new AsyncLocalStorage<Owner | undefined>();
  readonly #restore: (() => void)[] = [];
  /** Called with each happening, for those who look for a fault. */
  onStep?: (line: string) => void;

  constructor(seed: number) {
    this.#random = new Random(seed, "schedule");
    this.#takeOver(new Random(seed, "secrets"));
  }

  /** The fingerprint of everything that has happened. */
  get trace(): string {
    return `${this.steps}-${(this.#trace >>> 0).toString(16)}`;
  }

  /** The process whose code runs now; undefined for the world around them. */
  get owner(): Owner | undefined {
    return this.#owners.getStore();
  }

  /** The time of day, by the clock of whoever asks. */
  get clock(): number {
    const ahead = this.owner?.aheadMilliseconds ?? 0;
    return START_MILLISECONDS + Math.floor(this.milliseconds + ahead);
  }

  /** Runs something as a process, or as the world. */
  as<T>(owner: Owner | undefined, act: () => T): T {
    return this.#owners.run(owner, act);
  }

  /** Plans a happening; returns its name for `cancel`. */
  plan(
    milliseconds: number,
    label: string,
    act: () => void,
    owner = this.owner,
  ): number {
    const id = this.#nextId++;
    this.#push({
      id,
      at: this.milliseconds + Math.max(0, milliseconds || 0),
      order: this.#random.next(),
      label,
      owner,
      act,
    });
    return id;
  }

  cancel(id: number | undefined): void {
    const happening = this.#waiting.get(id!);
    if (!happening) return;
    this.#waiting.delete(id!);
    happening.act = () => {};
  }

  /** Lets a stopped process go on now. */
  resume(owner: Owner): void {
    owner.stoppedUntil = this.milliseconds;
    for (const happening of this.#queue) {
      if (happening.isHeld && happening.owner === owner) {
        happening.at = this.milliseconds;
      }
    }
    this.#queue.sort((one, other) => isBefore(one, other) ? -1 : 1);
  }

  /** Waits, as the world or as a process. */
  sleep(milliseconds: number, label = "pause"): Promise<void> {
    return new Promise((resolve) => this.plan(milliseconds, label, resolve));
  }

  /** Lets the next thing happen. Returns false if there is none. */
  async step(): Promise<boolean> {
    for (;;) {
      const next = this.#pop();
      if (!next) return false;
      if (!this.#waiting.has(next.id) || next.owner?.isDead) {
        this.#waiting.delete(next.id);
        continue;
      }
      const { owner } = next;
      if (owner && owner.stoppedUntil > next.at) {
        this.#push({ ...next, at: owner.stoppedUntil, isHeld: true });
        continue;
      }
      this.#waiting.delete(next.id);
      this.milliseconds = Math.max(this.milliseconds, next.at);
      this.steps++;
      this.#note(next);
      this.as(owner, next.act);
      await this.#rest();
      return true;
    }
  }

  /** Waits until no code can go on before the next happening. */
  async #rest(): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < TURNS; turn++) {
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      const external = this.#externals.shift();
      if (!external) return;
      const deliver = await external.settled;
      if (!external.owner?.isDead) deliver();
    }
  }

  #note({ label, owner }: Happening): void {
    const line = `${this.milliseconds.toFixed(3)} ${
      owner?.name ?? ""
    } ${label}`;
    for (let n = 0; n < line.length; n++) {
      this.#trace = Math.imul(this.#trace ^ line.charCodeAt(n), 0x01000193);
    }
    this.onStep?.(line);
  }

  #push(happening: Happening): void {
    this.#waiting.set(happening.id, happening);
    const queue = this.#queue;
    let at = queue.push(happening) - 1;
    while (at > 0) {
      const above = at - 1 >> 1;
      if (isBefore(queue[above], queue[at])) break;
      [queue[above], queue[at]] = [queue[at], queue[above]];
      at = above;
    }
  }

  #pop(): Happening | undefined {
    const queue = this.#queue;
    const first = queue[0];
    const last = queue.pop();
    if (queue.length === 0) return first;
    queue[0] = last!;
    for (let at = 0;;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = at;
      if (left < queue.length && isBefore(queue[left], queue[least])) {
        least = left;
      }
      if (right < queue.length && isBefore(queue[right], queue[least])) {
        least = right;
      }
      if (least === at) return first;
      [queue[at], queue[least]] = [queue[least], queue[at]];
      at = least;
    }
  }

  /** Replaces what differs from run to run. */
  #takeOver(random: Random): void {
    this.#replace(globalThis, {
      setTimeout: (
        act: (...args: unknown[]) => void,
        milliseconds: number,
        ...args: unknown[]
      ) => this.plan(milliseconds, "timer", () => act(...args)),
      clearTimeout: (id: number) => this.cancel(id),
      setInterval: (act: () => void, milliseconds: number) =>
        this.#repeat(act, milliseconds),
      clearInterval: (id: number) => this.cancel(id),
    });
    this.#replace(Date, { now: () => this.clock });
    this.#replace(globalThis, {
      Date: new Proxy(Date, {
        construct: (target, args) =>
          Reflect.construct(target, args.length > 0 ? args : [this.clock]),
      }),
    });
    this.#replace(performance, { now: () => this.milliseconds });
    this.#replace(Math, { random: () => random.next() });
    this.#replace(AbortSignal, {
      timeout: (milliseconds: number) => {
        const controller = new AbortController();
        this.plan(milliseconds, "time-out", () => {
          const words = "Signal timed out.";
          controller.abort(new DOMException(words, "TimeoutError"));
        });
        return controller.signal;
      },
    });
    const fill = <T extends Uint8Array>(bytes: T) => {
      for (let n = 0; n < bytes.length; n++) bytes[n] = random.below(256);
      return bytes;
    };
    this.#replace(crypto, {
      getRandomValues: fill,
      randomUUID() {
        const hex = fill(new Uint8Array(16)).toHex();
        const parts = [8, 12, 16, 20, 32]
          .map((end, n, ends) => hex.slice(ends[n - 1] ?? 0, end));
        return parts.join("-");
      },
    });
    const { subtle } = crypto;
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(subtle))
      .filter((name) =>
        name !== "constructor" &&
        typeof Reflect.get(subtle, name) === "function"
      );
    this.#replace(
      subtle,
      Object.fromEntries(own.map((name) => {
        const method = Reflect.get(subtle, name).bind(subtle);
        return [name, (...args: unknown[]) => this.#external(method(...args))];
      })),
    );
  }

  #repeat(act: () => void, milliseconds: number): number {
    const id: number = this.plan(milliseconds, "interval", beat);
    const { owner } = this;
    const plan = (happening: Happening) => this.#push(happening);
    const order = () => this.#random.next();
    const time = () => this.milliseconds;
    function beat() {
      // Under the same name, so that it can be cancelled.
      plan({
        id,
        at: time() + milliseconds,
        order: order(),
        label: "interval",
        owner,
        act: beat,
      });
      act();
    }
    return id;
  }

  /** Lets operations of the machine's threads end in the order in which they began. */
  #external<T>(operation: Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const settled = operation.then(
      (value) => () => resolve(value),
      (error) => () => reject(error),
    );
    this.#externals.push({ owner: this.owner, settled });
    return promise;
  }

  #replace(target: object, members: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(members)) {
      const before = Object.getOwnPropertyDescriptor(target, name);
      Object.defineProperty(target, name, {
        value,
        configurable: true,
        writable: true,
      });
      this.#restore.unshift(() => {
        if (before) Object.defineProperty(target, name, before);
        else Reflect.deleteProperty(target, name);
      });
    }
  }

  /** Gives clocks, timers and random numbers back to the machine. */
  [Symbol.dispose](): void {
    for (const restore of this.#restore) restore();
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.at < other.at || one.at === other.at && one.order < other.order;
}
