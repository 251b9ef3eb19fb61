/**
 * The processes of a test's server, one after another on one database, and the
 * clock that they share.
 *
 * @module
 */
import { durableOf } from "../../src/authoring/durable.ts";
import * as kinds from "../../src/authoring/options.ts";
import { pause } from "../../src/core/clock.ts";
import { Database } from "../../src/core/kv/database.ts";
import { registryOf } from "../../src/features/work/feature.ts";
import { endsStep } from "../../src/features/work/steps.ts";
import { isAsking } from "../../src/features/work/task_record.ts";
import { type Wake, wakeStore } from "../../src/features/work/run_record.ts";
import { TestApprovals } from "./test_approvals.ts";
import { type ProcessOptions, TestProcess } from "./test_process.ts";

/** The point at which a process dies; by default at once. */
export interface CrashPoint {
  /** The step, question or sleep after which the process dies. */
  after?: string;
  /** The step whose result the dying process does not store. */
  in?: string;
}

/** The options of {@linkcode CrashPoint}. */
export const CRASH_POINT = {
  after: kinds.TEXT,
  in: kinds.TEXT,
} satisfies kinds.Members<CrashPoint>;

/**
 * Makes the process of a task die, and another process take over its work.
 *
 * @param onDeath is called before the work is taken over
 * @param signal fires when the process must not die any more
 */
export type Crash = (
  taskId: string,
  point: CrashPoint,
  onDeath: () => void,
  signal: AbortSignal,
) => Promise<void>;

/** A task whose questions the test answers as they come. */
export interface Followed {
  taskId: string;
}

/** Requests that a client sends again when the network has cut them. */
const REPEATABLE = /^(tasks\/(get|update|cancel)|subscriptions\/listen)$/;
/**
 * The seconds after which the lease of a dead process has expired for certain.
 */
const LAPSE_SECONDS = 31;
/** The maximum time for which `advance()` waits for work, or an answer. */
const PATIENCE_MILLISECONDS = 5000;
const CHECK_MILLISECONDS = 5;

/** The maximum number of wakes that are read to find the next one. */
const MAX_WAKES = 1000;

const STILL_AT_WORK =
  "advance() moves the time once the work rests, and it is still at work after 5 s: end what its step waits for first";

/** The processes of one test. */
export class TestCluster implements AsyncDisposable {
  readonly #options: ProcessOptions;
  readonly followed = new Set<Followed>();
  readonly approvals: TestApprovals;
  readonly #dead: TestProcess[] = [];
  #aheadMilliseconds = 0;
  #hasWarned = false;
  #process: TestProcess;
  /** The start of the process that replaces a dead one. */
  #next?: Promise<void>;

  constructor(options: ProcessOptions) {
    const { clock = Date.now } = options;
    this.#options = {
      ...options,
      clock: () => clock() + this.#aheadMilliseconds,
    };
    this.#process = new TestProcess(this.#options, true);
    this.approvals = new TestApprovals(options.kv, this.#options.clock!);
  }

  get process(): TestProcess {
    return this.#process;
  }

  async send(request: Request): Promise<Response> {
    for (;;) {
      await this.#next;
      const process = this.#process;
      const again = REPEATABLE.test(methodOf(request))
        ? request.clone()
        : undefined;
      try {
        const response = await process.answer(request);
        // Work whose question was answered resumes now, without waiting for the
        // next read of wakes.
        if (methodOf(request) === "tasks/update") {
          // The process may die meanwhile.
          await Promise.race([
            registryOf(process.server.opened).poller.poll(),
            process.database.death,
          ]);
        }
        return response;
      } catch (error) {
        if (!again || !process.database.isDead) throw error;
        request = again;
      }
    }
  }

  /** Makes the process die, and another one take over its work. */
  readonly crash: Crash = async (taskId, point, onDeath, signal) => {
    await this.#next;
    const dying = this.#process;
    this.#warnOfMemory(dying);
    const { database } = dying;
    const name = point.in ?? point.after;
    if (name === undefined) database.die();
    else {
      const verdict = point.in === undefined ? "after" : "before";
      database.judge = (writes) =>
        writes.some((write) => endsStep(write, taskId, name))
          ? verdict
          : undefined;
      await Promise.race([database.death, fired(signal)]);
      database.judge = () => undefined;
      if (!database.isDead) throw signal.reason;
    }
    onDeath();
    await (this.#next = this.#replace(dying));
    await this.#jump(LAPSE_SECONDS * 1000);
  };

  /** Warns once if services start without the data of the dead process. */
  #warnOfMemory({ plan: { config } }: TestProcess): void {
    const names = Object.keys(config.own)
      .filter((name) => config.own[name] === ":memory:");
    if (names.length === 0 || this.#hasWarned) return;
    this.#hasWarned = true;
    console.warn(
      "crash: " +
        `${names.join(" and ")} is :memory:, so the services of the next ` +
        "process start without data. Give it a file: (await testFile()).path",
    );
  }

  /** Moves the clock forward. All events until then happen in their order. */
  async advance(seconds: number): Promise<void> {
    const untilMilliseconds = this.#aheadMilliseconds + seconds * 1000;
    const clock = this.#options.clock!;
    const last = clock() + seconds * 1000;
    const wakes = wakeStore(
      new Database(this.#options.kv, { clock: () => last }),
    );
    let before: string | undefined;
    for (;;) {
      const rest = await this.#rest();
      const all = await wakes.all(MAX_WAKES);
      const wake = all.find(({ dueSeconds }) => dueSeconds * 1000 <= last);
      // If no one takes up a wake, time does not wait for it.
      const isNew = wake !== undefined && nameOf(wake) !== before;
      before = wake && nameOf(wake);
      const next = Math.min(rest, isNew ? wake.dueSeconds : Infinity);
      const isLast = next * 1000 > last;
      await this.#jump(
        isLast
          ? untilMilliseconds - this.#aheadMilliseconds
          : Math.ceil(next * 1000) - clock(),
      );
      if (isLast) break;
    }
    await this.#rest();
  }

  /** Stops all processes. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#next;
    // Work that was to begin after this turn begins now, and is then stopped.
    if (this.#options.tools?.some(durableOf)) await pause(0);
    for (const process of [...this.#dead, this.#process]) {
      await process[Symbol.asyncDispose]();
    }
  }

  async #jump(milliseconds: number): Promise<void> {
    await registryOf(this.#process.server.opened).jump(() => {
      this.#aheadMilliseconds += Math.max(0, milliseconds);
    });
  }

  async #replace(dead: TestProcess): Promise<void> {
    this.#dead.push(dead);
    this.#process = new TestProcess(this.#options, false);
    await this.#process.start();
    this.#next = undefined;
  }

  /**
   * Waits until no durable work is running. Returns the time at which the first
   * such work resumes, in epoch seconds.
   */
  async #rest(): Promise<number> {
    const started = performance.now();
    for (;;) {
      const isLate = performance.now() - started > PATIENCE_MILLISECONDS;
      // If an answer never comes, time must not wait for it.
      const isAsked = !isLate && await this.#isAsked();
      const { waitsUntil } = registryOf(this.#process.server.opened);
      if (waitsUntil !== undefined && !isAsked) return waitsUntil;
      if (isLate) throw new Error(STILL_AT_WORK);
      await pause(CHECK_MILLISECONDS);
    }
  }

  /** True while an answer to a question of a followed task is being sent. */
  async #isAsked(): Promise<boolean> {
    const database = new Database(this.#options.kv);
    for (const { taskId } of this.followed) {
      if (await isAsking(database, taskId)) return true;
    }
    return false;
  }
}

function methodOf({ headers }: Request): string {
  return headers.get("mcp-method") ?? "";
}

function nameOf({ key, versionstamp }: Wake): string {
  return JSON.stringify([key, versionstamp]);
}

async function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}
