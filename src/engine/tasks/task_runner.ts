/**
 * The tasks that a process works on.
 *
 * @module
 */
import type { Authenticated } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import { randomId } from "../../crypto.ts";
import { HttpError, RpcCode, RpcError } from "../../errors.ts";
import type { Logger } from "../../log.ts";
import {
  HEARTBEAT_SECONDS,
  type Outcome,
  type Task,
  type TaskStore,
} from "../../store/tasks.ts";
import type { Context, McpClient } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import {
  CallContext,
  type CallSettings,
  type Channel,
} from "../call_context.ts";
import type { JsonObject } from "../../json.ts";
import { errorResult } from "../../protocol/tool_result.ts";

/** What becomes of a task whose process stops; one that has ended stays so. */
const STOPPED: Outcome = {
  status: "failed",
  outcome: {
    code: RpcCode.internalError,
    message: "The process that ran this task has stopped",
  },
};

/** What a task's tool is run with. */
export interface TaskSettings extends Authenticated {
  client: McpClient;
  meta: JsonObject;
  changes: CallSettings["changes"];
  /** The tool's work: its result, or an exception. */
  work(context: Context): Promise<JsonObject>;
}

/** The tasks that this process works on. */
export class TaskRunner {
  #running = new Map<AbortController, Promise<void>>();
  #hasStopped = false;

  constructor(
    private readonly tasks: TaskStore,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  get size(): number {
    return this.#running.size;
  }

  /**
   * Creates a task and begins to work on it.
   *
   * @throws {HttpError} 503 when the server stops
   */
  async start(settings: TaskSettings): Promise<Task> {
    if (this.#hasStopped) throw new HttpError(503, "The server stops");
    const taskId = randomId(24);
    const task = await this.tasks.create(taskId, settings.caller.binding);
    const abort = new AbortController();
    const done = this.#work(taskId, settings, abort)
      .catch((error) =>
        this.log.error("A task could not be ended", {
          reference: taskId,
          error,
        })
      )
      .finally(() => this.#running.delete(abort));
    this.#running.set(abort, done);
    return task;
  }

  /** Ends every task of this process as failed, and waits until that is kept. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    for (const abort of this.#running.keys()) {
      abort.abort(new DOMException("The server stops", "AbortError"));
    }
    await Promise.all(this.#running.values());
  }

  async #work(
    taskId: string,
    settings: TaskSettings,
    abort: AbortController,
  ): Promise<void> {
    const { signal } = abort;
    const end = () =>
      abort.abort(new DOMException("The task has ended", "AbortError"));
    const heartbeat = setInterval(async () => {
      try {
        if (!await this.tasks.renewLease(taskId)) end();
      } catch (error) {
        this.log.warning("A task's lease could not be renewed", { error });
      }
    }, HEARTBEAT_SECONDS * 1000);
    const watching = new AbortController();
    // Should this fail, the heartbeat will see it a little later.
    const watched = this.tasks.ended(taskId, watching.signal).then(
      end,
      () => {},
    );
    const context = new CallContext({
      ...settings,
      stateless: true,
      requestId: taskId,
      progressToken: taskId,
      signal: () => signal,
      channel: new TaskChannel(taskId, this.tasks, signal, this.clock),
    });
    // A tool that ignores the signal must not keep a cancelled task open.
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), {
        once: true,
      })
    );
    try {
      const outcome = await Promise.race([settings.work(context), aborted])
        .then(
          (result): Outcome => ({ status: "completed", outcome: result }),
          (error) => signal.aborted ? STOPPED : this.#outcomeOf(error, taskId),
        );
      await this.tasks.end(taskId, outcome);
    } finally {
      clearInterval(heartbeat);
      watching.abort();
      await watched;
    }
  }

  #outcomeOf(error: unknown, taskId: string): Outcome {
    if (error instanceof ToolError) {
      const outcome = errorResult(error.message) as unknown as JsonObject;
      return { status: "completed", outcome };
    }
    if (error instanceof RpcError) {
      const { code, message, data } = error;
      return { status: "failed", outcome: { code, message, data } };
    }
    this.log.error("Internal error", { reference: taskId, error });
    const message = `Internal error (reference ${taskId})`;
    const outcome = { code: RpcCode.internalError, message };
    return { status: "failed", outcome };
  }
}

const MESSAGE_MILLISECONDS = 1000;

/** The way from a task's tool to the client: through the task's record. */
class TaskChannel implements Channel {
  #count = 0;
  #keys = new Set<string>();
  #lastMessageMilliseconds = 0;

  constructor(
    private readonly taskId: string,
    private readonly tasks: TaskStore,
    private readonly signal: AbortSignal,
    private readonly clock: Clock,
  ) {}

  /** Tasks have no notifications; progress in words becomes the status. */
  async notify(method: string, { message }: JsonObject): Promise<void> {
    if (method !== "notifications/progress") return;
    if (typeof message !== "string") return;
    const now = this.clock();
    if (now - this.#lastMessageMilliseconds < MESSAGE_MILLISECONDS) return;
    this.#lastMessageMilliseconds = now;
    await this.tasks.setMessage(this.taskId, message);
  }

  request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject> {
    return this.tasks.ask(
      this.taskId,
      this.#unusedKey(key ?? method.split("/")[0]),
      { method, params },
      this.signal,
    );
  }

  /** A key never stands for two questions of one task. */
  #unusedKey(name: string): string {
    let key = name;
    while (this.#keys.has(key)) key = `${name}-${++this.#count}`;
    this.#keys.add(key);
    return key;
  }
}
