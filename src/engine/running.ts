/**
 * The requests this process is working on, and one clock for all of them,
 * which also finds those that were cancelled through another process.
 *
 * @module
 */
import type { Cancellable, CancellationStore } from "../store/cancellations.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { RequestId } from "../protocol/messages.ts";

const BEAT_MILLISECONDS = 200;

/** Something that is being worked on. */
export interface Running {
  /** Where a 2025 client's cancellation would be found. */
  readonly cancellable?: Cancellable;
  /** Time has passed. */
  beat(nowMilliseconds: number): void;
  /** The client wants no answer any more. */
  cancel(reason: string): void;
  /** The work should end, and say so to its client. */
  stop(reason: string): void;
}

/** All requests that are being worked on. */
export class RunningCalls {
  #running = new Set<Running>();
  #timer?: ReturnType<typeof setInterval>;
  #isLooking = false;
  #hasStopped = false;

  constructor(
    private readonly cancellations: CancellationStore,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  get size(): number {
    return this.#running.size;
  }

  add(call: Running): void {
    this.#running.add(call);
    // What slipped in while the server was stopping is told at once.
    if (this.#hasStopped) return call.stop(STOPPING);
    this.#timer ??= setInterval(() => this.#beat(), BEAT_MILLISECONDS);
  }

  delete(call: Running): void {
    this.#running.delete(call);
  }

  /** Cancels a request of a session if it runs here; false if it does not. */
  cancel(sessionId: string, requestId: RequestId, reason: string): boolean {
    for (const call of this.#running) {
      const { cancellable } = call;
      if (
        cancellable?.sessionId === sessionId &&
        cancellable.requestId === requestId
      ) {
        call.cancel(reason);
        return true;
      }
    }
    return false;
  }

  /** Stops the clock and tells every call that the server stops. */
  stop(): void {
    this.#hasStopped = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const call of this.#running) call.stop(STOPPING);
  }

  #beat(): void {
    if (this.#running.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = this.clock();
    let isCancellable = false;
    for (const call of this.#running) {
      call.beat(now);
      isCancellable ||= call.cancellable !== undefined;
    }
    if (isCancellable) this.#cancelFound();
  }

  async #cancelFound(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const found = await this.cancellations.find(() => this.#cancellable());
      for (const { call } of found) call.cancel("cancelled by the client");
    } catch (error) {
      this.log.warning("Cancellations could not be read", { error });
    } finally {
      this.#isLooking = false;
    }
  }

  #cancellable(): (Cancellable & { call: Running })[] {
    return [...this.#running].flatMap((call) =>
      call.cancellable ? [{ ...call.cancellable, call }] : []
    );
  }
}

const STOPPING = "The server stops";
