/**
 * The watch over a task that this process works on: its lease, the permission
 * of its caller, and its record, which its client may end at any process.
 *
 * @module
 */
import { type Logger, logRepeated } from "../../core/log/log.ts";
import { HEARTBEAT_SECONDS } from "../../core/kv/leases.ts";
import type { TaskStore } from "./tasks.ts";
import { LIVE_MILLISECONDS } from "../../core/mcp/exchange/running.ts";
import { CANCELLED, EXPELLED, type SettledTask } from "./task_state.ts";
import type { TaskOrigin } from "./task_work.ts";

interface Watched {
  taskId: string;
  origin: TaskOrigin;
  /** Renews the task's lease. Returns false if this process has lost it. */
  renew(): Promise<boolean>;
  /**
   * The end of the task when the lease is lost; undefined if the task goes on
   * in another process.
   */
  onLost: SettledTask | undefined;
}

export class TaskWatch {
  #timers: ReturnType<typeof setInterval>[] = [];
  readonly #over = new AbortController();
  #watching?: Promise<void>;

  constructor(
    private readonly parts: { tasks: TaskStore; log: Logger },
    private readonly watched: Watched,
  ) {}

  /** True while the grant of the task, or the last one to use it, is alive. */
  async isAllowed(): Promise<boolean> {
    const { taskId, origin: { authenticated, caller } } = this.watched;
    // Without the session of a 2025 client: its task outlives it.
    if (await authenticated.isLive?.() ?? true) return true;
    const grantId = await this.parts.tasks.userOf(taskId, caller.binding);
    return await authenticated.isLive?.(grantId) === true;
  }

  /** @param end ends the task in this process, as it is told */
  start(end: (ending: SettledTask | undefined) => void): void {
    const { taskId, renew, onLost } = this.watched;
    this.#timers = [
      this.#every(HEARTBEAT_SECONDS * 1000, UNRENEWED, async () => {
        if (!await renew()) end(onLost);
      }),
      this.#every(LIVE_MILLISECONDS, UNREAD, async () => {
        if (!await this.isAllowed()) end(EXPELLED);
      }),
    ];
    // If this fails, the heartbeat notices the end a little later.
    this.#watching = this.parts.tasks.ended(taskId, this.#over.signal).then(
      () => end(CANCELLED),
      () => {},
    );
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#over.abort();
    await this.#watching;
  }

  #every(milliseconds: number, complaint: string, check: () => Promise<void>) {
    const { parts: { log }, watched: { taskId: reference } } = this;
    return setInterval(
      () =>
        check().catch((error) =>
          logRepeated(log, complaint, { reference, error })
        ),
      milliseconds,
    );
  }
}

const UNRENEWED = "A task's lease could not be renewed";
const UNREAD = "A task's grant could not be read";
