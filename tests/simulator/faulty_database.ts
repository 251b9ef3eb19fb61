/**
 * One database in memory, and the handle of each process on it: operations take
 * time, come late, get lost, are carried out twice or never.
 *
 * @module
 */
import type {
  Kv,
  KvAtomic,
  KvEntryMaybe,
  KvListOptions,
  KvSelector,
} from "../../src/core/kv/kv.ts";
import { type Faults, OPERATION_FAULTS } from "./faults.ts";
import type { Random } from "./random.ts";
import { accountKey } from "../../src/core/kv/keys.ts";
import { LAPSE_SECONDS, type TaskLease } from "../../src/core/kv/leases.ts";
import type { TaskRecord } from "../../src/features/work/task_record.ts";
import type { Owner, Scheduler } from "./scheduler.ts";

/** The time of one way to the database or back. */
const WAY_MILLISECONDS = 2;
const MAX_LATE_MILLISECONDS = 8000;
/** A commit that was given up may still be carried out after this time. */
const MAX_DELAY_MILLISECONDS = 90_000;

/** The weight of a fault at a commit: what is lost matters most there. */
const AT_COMMIT = 3;

/** An operator, whose commands no fault strikes. */
export const OPERATOR: Owner = {
  name: "operator",
  isDead: false,
  stoppedUntil: 0,
  aheadMilliseconds: 0,
};

/** The lease of an account, which its holder has while it refreshes tokens. */
export interface AccountLease {
  owner: Owner;
  /** The time at which it was taken. */
  at: number;
  leaseUntil: number;
  /** The mark by which its record is given up. */
  mark?: string;
}

/** An operation that a fault has struck, for those who excuse what follows. */
export type OnFault = (owner: Owner, fault: string) => void;

export class FaultyDatabase {
  /** The time until which operations fail, and until which they are held. */
  awayUntil = 0;
  stalledUntil = 0;
  /** The operations that a stall holds. */
  readonly #held = new Set<() => void>();
  /** The holder of each lease of a task, and the time at which it was renewed. */
  readonly #leases = new Map<string, { name: string; at: number }>();
  /** The lease of each account that has one, by the account's key. */
  readonly #leased = new Map<string, AccountLease>();
  /** The time at which the last lease of an account ended. */
  readonly #leasedUntil = new Map<string, number>();
  /** The mark of each task that was never changed. */
  readonly #marks = new Map<string, string>();
  /** The time at which each mark was written down as given up. */
  readonly #givenUp = new Map<string, number>();

  constructor(
    /** The database without faults. */
    readonly kv: Kv,
    private readonly scheduler: Scheduler,
    private readonly faults: Faults,
    private readonly random: Random,
    private readonly onFault: OnFault,
    /** Called as a process begins an operation. */
    private readonly onOperation: (
      owner: Owner,
      label: string,
      taskId?: string,
    ) => void,
    /** Called when a process has taken a run whose lease is younger than it may be. */
    private readonly onEarly: (words: string) => void,
    private readonly isRemote: boolean,
  ) {}

  /** Refuses everything for a moment. */
  failOver(): void {
    this.awayUntil = this.scheduler.milliseconds +
      10 ** this.faults.of("outage").between(1, 4);
  }

  /** Ends outages and stalls, and does what a stall has held. */
  heal(): void {
    this.awayUntil = this.stalledUntil = this.scheduler.milliseconds;
    for (const act of this.#held) this.scheduler.plan(0, "goes on", act);
  }

  /** Opens the handle of a process or of an operator. */
  handleOf(owner: Owner): Kv {
    const { kv } = this;
    return {
      isRemote: this.isRemote,
      get: (key) => this.#run(owner, "get", () => kv.get(key)),
      getMany: (keys) => this.#run(owner, "getMany", () => kv.getMany(keys)),
      list: (...args) => this.#list(owner, ...args),
      atomic: () => this.#atomic(owner),
      watch: (keys) => this.#watch(owner, kv.watch(keys)),
      close() {},
    };
  }

  async *#list(owner: Owner, selector: KvSelector, options?: KvListOptions) {
    yield* await this.#run(
      owner,
      "list",
      () => Array.fromAsync(this.kv.list(selector, options)),
    );
  }

  #atomic(owner: Owner): KvAtomic {
    // Each time it is carried out it is made anew, as one that arrives twice.
    const parts: ((atomic: KvAtomic) => void)[] = [];
    const keys: string[] = [];
    const values = new Map<string, { id: string; value: unknown }>();
    const accounts = new Map<string, Omit<AccountLease, "owner" | "at">>();
    const givenUp: string[] = [];
    const commit = async () => {
      const atomic = this.kv.atomic();
      for (const part of parts) part(atomic);
      const result = await atomic.commit();
      if (!result.ok) return result;
      this.#watchLease(owner, values);
      this.#watchTask(values.get("task"));
      for (const mark of givenUp) {
        this.#givenUp.set(mark, this.scheduler.milliseconds / 1000);
      }
      for (const [key, lease] of accounts) {
        this.#watchAccount(owner, key, lease);
      }
      return result;
    };
    const operation: KvAtomic = {
      check: (...checks) => {
        parts.push((atomic) => atomic.check(...checks));
        return operation;
      },
      set: (key, value, options) => {
        const copy = structuredClone(value);
        parts.push((atomic) => atomic.set(key, copy, options));
        keys.push(String(key[0]));
        values.set(String(key[0]), { id: String(key[1]), value: copy });
        if (key[0] === "given-up") givenUp.push(String(key[1]));
        if (key[0] === "account") {
          accounts.set(key.join(), Object(copy));
        }
        return operation;
      },
      delete: (key) => {
        parts.push((atomic) => atomic.delete(key));
        keys.push(`-${String(key[0])}`);
        if (key[0] === "account") accounts.set(key.join(), { leaseUntil: 0 });
        return operation;
      },
      commit: () =>
        this.#run(
          owner,
          `commit ${keys}`,
          commit,
          true,
          values.get("task-run")?.id,
        ),
    };
    return operation;
  }

  /**
   * True if one of a person's accounts has a lease, or had one since a time. If
   * its process died, each other watches it for a minute from the first call
   * that needs it.
   */
  wasLeased(subject: string, since: number): boolean {
    const prefix = accountKey(subject).join();
    return [...this.#leased.keys()].some((key) => key.startsWith(prefix)) ||
      [...this.#leasedUntil].some(([key, at]) =>
        key.startsWith(prefix) && at >= since
      );
  }

  /** The leases of accounts, without those of calls that were given up. */
  get leases(): AccountLease[] {
    return [...this.#leased.values()].filter(({ mark = "" }) =>
      !this.#givenUp.has(mark)
    );
  }

  /** Names the process that has the lease of a task, if one has. */
  holderOf(taskId: string): string | undefined {
    return this.#leases.get(taskId)?.name;
  }

  /**
   * Returns the time from which every process can know that the call that began
   * a task was answered with 503, unless the task has changed since.
   */
  givenUpAt(taskId: string): number | undefined {
    return this.#givenUp.get(this.#marks.get(taskId) ?? "");
  }

  #watchAccount(
    owner: Owner,
    key: string,
    { leaseUntil, mark }: Omit<AccountLease, "owner" | "at">,
  ): void {
    const at = this.scheduler.milliseconds / 1000;
    if (!leaseUntil) {
      if (this.#leased.delete(key)) this.#leasedUntil.set(key, at);
    } else if (this.#leased.get(key)?.leaseUntil !== leaseUntil) {
      this.#leased.set(key, { owner, at, leaseUntil, mark });
    }
  }

  #watchTask(task?: { id: string; value: unknown }): void {
    if (!task) return;
    const { mark, createdMilliseconds, updatedMilliseconds } = task
      .value as TaskRecord & { mark: string };
    if (createdMilliseconds !== updatedMilliseconds) {
      this.#marks.delete(task.id);
    } else this.#marks.set(task.id, mark);
  }

  /** Checks that a run is taken only once its lease has been seen long enough. */
  #watchLease(
    { name }: Owner,
    values: ReadonlyMap<string, { id: string; value: unknown }>,
  ): void {
    const run = values.get("task-run");
    const lease = values.get("task-lease");
    const { milliseconds } = this.scheduler;
    const known = this.#leases.get(run?.id ?? "");
    if (run && lease && known) {
      const age = milliseconds - known.at;
      if (age < LAPSE_SECONDS * 1000) {
        this.onEarly(
          `${name} took ${run.id} from ${known.name}, whose lease was ${
            Math.round(age)
          } ms old`,
        );
      }
    }
    // A process that watches an expired lease notes that in it.
    const isWatch = (lease?.value as TaskLease | undefined)
      ?.watchedMilliseconds !== undefined;
    if (isWatch) return;
    if (lease) this.#leases.set(lease.id, { name, at: milliseconds });
    // A run that is parked has none.
    else if (run) this.#leases.delete(run.id);
  }

  #run<T>(
    owner: Owner,
    label: string,
    operation: () => Promise<T>,
    isCommit = false,
    taskId?: string,
  ): Promise<T> {
    if (owner === OPERATOR) return operation();
    const { scheduler, faults, random } = this;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.onOperation(owner, label, taskId);
    // A process that dies or stops here may not have sent it yet.
    const isStruck = owner.isDead ||
      owner.stoppedUntil > scheduler.milliseconds;
    const sender = isStruck && random.chance(0.5) ? owner : undefined;
    const weight = (isCommit ? AT_COMMIT : 1) * faults.weightOf(label);
    const fault = OPERATION_FAULTS.find((fault) =>
      faults.strikes(fault, weight) &&
      (isCommit || fault !== "repeated" && fault !== "delayed")
    );
    if (fault) this.onFault(owner, fault);
    const name = fault ? `${label} (${fault})` : label;
    const way = () => random.next() * WAY_MILLISECONDS;
    const answer = (act: () => void, milliseconds = way()) =>
      scheduler.plan(milliseconds, `${name} is answered`, act, owner);
    const fail = () => answer(() => reject(new Error("connection reset")));
    const carryOut = async (times = 1) => {
      if (this.#wait(() => carryOut(times), name)) return;
      if (scheduler.milliseconds < this.awayUntil) return fail();
      if (fault === "refused") return fail();
      let result: T;
      try {
        result = await operation();
      } catch (error) {
        answer(() => reject(error));
        return;
      }
      if (times > 1) arrive(times - 1);
      else if (fault === "forgotten") {
        if (isCommit && faults.of(fault).chance(0.5)) this.failOver();
        fail();
      } else if (fault !== "never" && fault !== "delayed") {
        answer(() => resolve(result), later());
      }
    };
    const isLateBefore = random.chance(0.5);
    const late = fault === "late"
      ? faults.of(fault).between(100, MAX_LATE_MILLISECONDS)
      : 0;
    const later = () => way() + (isLateBefore ? 0 : late);
    const arrive = (times: number, milliseconds = way()) => {
      scheduler.as(
        sender,
        () => scheduler.plan(milliseconds, name, () => void carryOut(times)),
      );
    };
    // One that is never answered may never have arrived.
    if (fault === "never" && faults.of(fault).chance(0.5)) return promise;
    const delay = fault === "delayed"
      ? faults.of(fault).between(0, MAX_DELAY_MILLISECONDS)
      : way() + (isLateBefore ? late : 0);
    arrive(fault === "repeated" ? 2 : 1, delay);
    return promise;
  }

  /** Holds an operation until the database goes on. */
  #wait(act: () => void, label: string): boolean {
    const { milliseconds } = this.scheduler;
    if (milliseconds >= this.stalledUntil) return false;
    const rest = this.stalledUntil - milliseconds + this.random.next();
    const goOn = () => {
      if (this.#held.delete(goOn)) act();
    };
    this.#held.add(goOn);
    this.scheduler.plan(rest, label, goOn);
    return true;
  }

  /** Passes on what a watch sees, some time later. */
  #watch(
    owner: Owner,
    stream: ReadableStream<KvEntryMaybe[]>,
  ): ReadableStream<KvEntryMaybe[]> {
    const reader = stream.getReader();
    const { scheduler, random } = this;
    let seen = 0;
    return new ReadableStream<KvEntryMaybe[]>({
      pull: (controller) =>
        new Promise<void>((resolve) => {
          scheduler.as(undefined, async () => {
            const { done, value } = await reader.read();
            const act = () => {
              try {
                if (done) controller.close();
                else controller.enqueue(value);
              } catch {
                // It was cancelled meanwhile.
              }
              resolve();
            };
            // Without a remote database the commits of others are not seen.
            if (!this.isRemote && seen++ > 0) return;
            scheduler.plan(
              random.next() * WAY_MILLISECONDS,
              "watch",
              act,
              owner,
            );
          });
        }),
      cancel: () => reader.cancel(),
    }, { highWaterMark: 0 });
  }
}
