/**
 * The running calls of this process. One timer for all of them looks for
 * cancellations (`notifications/cancelled`) that other processes received.
 * Subscriptions have a list and limits of their own.
 * @module
 */
import type {
  Cancellable,
  CancellationStore,
} from "../../store/cancellations.ts";
import { type Logger, logRepeated } from "../../log/log.ts";
import type { RequestId } from "../../protocol/messages.ts";
import { outsideTrace } from "../../telemetry/current.ts";
import {
  CallerBound,
  longMessageBudget,
  type MessageHolder,
} from "./limits.ts";
import { unreadBudget } from "./unread_answers.ts";
import { HttpError } from "../../errors.ts";

const BEAT_MILLISECONDS = 200;

/**
 * The interval at which the server checks that calls and tasks are still
 * permitted.
 */
export const LIVE_MILLISECONDS = 1000;

export const STOPPING = "The server stops";
export const PERMISSION_ENDED =
  "The session or permission of this call has ended, or is paused";

/** True if the server has ended the work of a signal, and not its client. */
export function isCutOff({ reason }: AbortSignal): boolean {
  return reason?.message === STOPPING || reason?.message === PERMISSION_ENDED;
}

/** Makes the text about work that was cut off. */
export function cutOffText(reason: string, ifCut?: string): string {
  return ifCut ? `${reason}. ${ifCut}` : reason;
}

const EXPIRED = "The access token of this subscription has expired";

/** The maximum number of running calls of one caller in one process. */
export const MAX_CALLS_PER_CALLER = 1000;

export interface RunningCall extends MessageHolder {
  /** The key by which an MCP 2025 client cancels the call. */
  readonly cancellable?: Cancellable;
  readonly execution: {
    /** Called when the work should end with a result. */
    stop(reason: string): void;
    /** Called when the client no longer wants a response. */
    cancel(reason: string): void;
    /** Called when the grant or the session of the call has ended. */
    expel(): void;
  };
  readonly watch: {
    /** Called five times a second, with `performance.now()`. */
    beat(nowMilliseconds: number): void;
  };
  /** True while the grant and the session of the call are alive. */
  isLive(): Promise<boolean>;
  /** True for a subscription whose credential is no longer accepted. */
  hasExpired?(): Promise<boolean>;
}

/** The members of a subscription that {@linkcode Subscriptions} uses. */
interface Subscription extends Pick<RunningCall, "limitKey"> {
  readonly execution: Pick<RunningCall["execution"], "stop">;
}

export class RunningCalls {
  #running = new Set<RunningCall>();
  #timer?: ReturnType<typeof setInterval>;
  #checkedMilliseconds = -Infinity;
  #bound = new CallerBound(MAX_CALLS_PER_CALLER, "calls at a time");
  #hasStopped = false;

  readonly #expelEnded = this.#withoutOverlap(async () => {
    await Promise.all([...this.#running].map(async (call) => {
      if (await call.hasExpired?.()) call.execution.stop(EXPIRED);
      else if (!await call.isLive()) call.execution.expel();
    }));
  }, "Grants and sessions could not be read");

  readonly #cancelFound = this.#withoutOverlap(async () => {
    const found = await this.cancellations.find(() =>
      [...this.#running].flatMap((call) =>
        call.cancellable ? [{ ...call.cancellable, call }] : []
      )
    );
    for (const { call: { execution } } of found) {
      execution.cancel("cancelled by the client");
    }
  }, "Cancellations could not be read");

  constructor(
    private readonly cancellations: CancellationStore,
    private readonly log: Logger,
  ) {}

  get size(): number {
    return this.#running.size;
  }

  /**
   * Checks a call before it runs, without adding it: most calls end at once,
   * and are never added.
   *
   * @throws {HttpError} 429 if the caller has too many running calls, or too
   * many bytes of long messages or unread responses; 503 if the process has too
   * many bytes
   */
  check(call: MessageHolder): void {
    longMessageBudget.check(call);
    unreadBudget.checkCaller(call);
    if (this.#running.size < MAX_CALLS_PER_CALLER) return;
    this.#bound.check(call.limitKey);
  }

  add(call: RunningCall): void {
    this.#bound.count(call.limitKey);
    longMessageBudget.add(call);
    this.#running.add(call);
    // A call that began while the server was stopping is stopped at once.
    if (this.#hasStopped) return call.execution.stop(STOPPING);
    this.#timer ??= outsideTrace(() =>
      setInterval(() => this.#beat(), BEAT_MILLISECONDS)
    );
  }

  delete(call: RunningCall): void {
    if (!this.#running.delete(call)) return;
    this.#bound.release(call.limitKey);
    longMessageBudget.delete(call);
  }

  /**
   * Cancels a request of a session. Returns false if it does not run in this
   * process.
   */
  cancel(sessionId: string, requestId: RequestId, reason: string): boolean {
    for (const call of this.#running) {
      const { cancellable } = call;
      if (
        cancellable?.sessionId === sessionId &&
        cancellable.requestId === requestId
      ) {
        call.execution.cancel(reason);
        return true;
      }
    }
    return false;
  }

  /** Stops the timer and all calls when the server stops. */
  stop(): void {
    this.#hasStopped = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const { execution } of this.#running) execution.stop(STOPPING);
  }

  #beat(): void {
    if (this.#running.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = performance.now();
    let isCancellable = false;
    for (const call of this.#running) {
      call.watch.beat(now);
      isCancellable ||= call.cancellable !== undefined;
    }
    if (isCancellable) this.#cancelFound();
    if (now - this.#checkedMilliseconds < LIVE_MILLISECONDS) return;
    this.#checkedMilliseconds = now;
    this.#expelEnded();
  }

  /** Makes a function that starts the work, unless it is still running. */
  #withoutOverlap(work: () => Promise<void>, complaint: string): () => void {
    let isAtWork = false;
    return async () => {
      if (isAtWork) return;
      isAtWork = true;
      await work().catch((error) =>
        logRepeated(this.log, complaint, { error })
      );
      isAtWork = false;
    };
  }
}

/**
 * The maximum number of open subscription streams in one process; each costs a
 * few KiB.
 */
const MAX_SUBSCRIPTIONS = 10_000;

/** The maximum number of subscription streams of one caller in one process. */
export const MAX_SUBSCRIPTIONS_PER_CALLER = 100;

/** The open subscriptions of this process, up to a limit. */
export class Subscriptions {
  #open = new Set<Subscription>();
  #hasEnded = false;
  #bound = new CallerBound(
    MAX_SUBSCRIPTIONS_PER_CALLER,
    "subscriptions at a time",
  );

  /**
   * @throws {HttpError} 503 if there are too many subscriptions or the server
   * stops, 429 if the caller has too many
   */
  add(call: Subscription): void {
    if (this.#hasEnded || this.#open.size >= MAX_SUBSCRIPTIONS) {
      const message = this.#hasEnded
        ? "The server is stopping"
        : "Too many subscriptions";
      throw new HttpError(503, message, { headers: { "retry-after": "30" } });
    }
    this.#bound.take(call.limitKey);
    this.#open.add(call);
  }

  delete(call: Subscription): void {
    if (this.#open.delete(call)) this.#bound.release(call.limitKey);
  }

  /** Ends all subscriptions, each with its result. New ones are refused. */
  end(): void {
    this.#hasEnded = true;
    for (const { execution } of this.#open) execution.stop(STOPPING);
  }
}
