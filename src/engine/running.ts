/**
 * The requests this process is working on, and one clock for all of them:
 * slow ones become streams, quiet streams get comments, and those that were
 * cancelled through another process are found.
 *
 * @module
 */
import type { Cancellable, CancellationStore } from "../store/cancellations.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { RequestId } from "../protocol/messages.ts";

const BEAT_MILLISECONDS = 200;
/**
 * A call that takes longer than this becomes a stream: only then is a
 * disconnect noticed at once, and proxies see that somebody is at work.
 */
const SLOW_MILLISECONDS = 1000;
const QUIET_MILLISECONDS = 15_000;

/** The part of an answer that the clock winds. */
export interface Windable {
  readonly isStream: boolean;
  readonly hasEnded: boolean;
  readonly lastSentMilliseconds: number;
  open(): void;
  comment(): void;
}

/** A request that is being worked on. */
export interface Running {
  readonly answer: Windable;
  readonly startedMilliseconds: number;
  /** Where a 2025 client's cancellation would be found. */
  readonly cancellable?: Cancellable;
  /** The client wants no answer any more. */
  cancel(reason: string): void;
  /** The server stops. */
  stop(): void;
}

/** All requests that are being worked on. */
export class RunningRequests {
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

  add(request: Running): void {
    this.#running.add(request);
    // What slipped in while the server was stopping is told at once.
    if (this.#hasStopped) return request.stop();
    this.#timer ??= setInterval(() => this.#beat(), BEAT_MILLISECONDS);
  }

  delete(request: Running): void {
    this.#running.delete(request);
  }

  /** Cancels a request of a session if it runs here; false if it does not. */
  cancel(sessionId: string, requestId: RequestId, reason: string): boolean {
    for (const request of this.#running) {
      const { cancellable } = request;
      if (
        cancellable?.sessionId === sessionId &&
        cancellable.requestId === requestId
      ) {
        request.cancel(reason);
        return true;
      }
    }
    return false;
  }

  /** Stops the clock and tells every request that the server stops. */
  stop(): void {
    this.#hasStopped = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const request of this.#running) request.stop();
  }

  #beat(): void {
    if (this.#running.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = this.clock();
    let isCancellable = false;
    for (const request of this.#running) {
      const { answer } = request;
      if (!answer.isStream) {
        if (now - request.startedMilliseconds >= SLOW_MILLISECONDS) {
          answer.open();
        }
      } else if (now - answer.lastSentMilliseconds >= QUIET_MILLISECONDS) {
        answer.comment();
      }
      isCancellable ||= request.cancellable !== undefined;
    }
    if (isCancellable) this.#cancelFound();
  }

  async #cancelFound(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const found = await this.cancellations.find(() => this.#cancellable());
      for (const { request } of found) {
        request.cancel("cancelled by the client");
      }
    } catch (error) {
      this.log.warning("Cancellations could not be read", { error });
    } finally {
      this.#isLooking = false;
    }
  }

  #cancellable(): (Cancellable & { request: Running })[] {
    return [...this.#running].flatMap((request) =>
      request.cancellable ? [{ ...request.cancellable, request }] : []
    );
  }
}
