/**
 * The tasks that this process works on.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Authenticated, Caller, Upstream } from "../../caller.ts";
import type { Clock } from "../../clock.ts";
import { randomId } from "../../crypto.ts";
import {
  ChallengeError,
  HttpError,
  LimitError,
  RpcCode,
  RpcError,
} from "../../errors.ts";
import { logFailure } from "../../failures.ts";
import type { Logger } from "../../log.ts";
import {
  DIED,
  HEARTBEAT_SECONDS,
  type Outcome as Kept,
  type Task,
  type TaskStore,
} from "../../store/tasks.ts";
import type { Outcome } from "../../outcome.ts";
import type { Context, McpClient } from "../../authoring/context.ts";
import { ToolError } from "../../authoring/tool.ts";
import { CallerBound } from "../caller_bound.ts";
import { type CountedAs, MANY } from "../counted_as.ts";
import { CallContext, type Work } from "../call_context.ts";
import { inWords } from "../refusal.ts";
import type { Running } from "../running.ts";
import type { JsonObject } from "../../json.ts";
import { persist, tidy } from "../../store/persist.ts";
import { errorResult } from "../../protocol/tool_result.ts";

/** The end of a task. */
interface End {
  /** The status and result for the client. */
  kept: Kept;
  /** The outcome for the log, and for the person in whose name it was begun. */
  outcome: Outcome;
}

/**
 * The end of a task whose process stops; a task that has ended stays as it is.
 */
const STOPPED: End = {
  kept: { status: "failed", outcome: DIED },
  outcome: "stopped",
};

/** The end of a task that its client has already ended. */
const CANCELLED: End = { ...STOPPED, outcome: "cancelled" };

/** The end of a task whose grant has ended. */
const EXPELLED: End = {
  kept: {
    status: "failed",
    outcome: {
      code: RpcCode.internalError,
      message: "The permission for this task has ended, or is paused",
    },
  },
  outcome: "stopped",
};

/** The most tasks that one caller may have running in one process. */
export const TASKS_PER_CALLER = 100;

/**
 * The most tasks of a person or a list that are stored, in any state, for a
 * day.
 */
export const TASKS_KEPT = 1000;

/**
 * The seconds after which to try again: stored tasks expire one by one, in the
 * order of their calls.
 */
const KEPT_RETRY_SECONDS = 600;

/**
 * The time after which a task's permission is checked again, in milliseconds.
 */
const LIVE_MILLISECONDS = 1000;

/**
 * Chooses the list that counts a new task. A caller that may be many people has
 * many lists, filled evenly, so that counting one costs no more than a
 * person's.
 */
function listOf({ binding }: Caller, countedAs?: CountedAs): string {
  if (!countedAs?.isMany) return binding;
  return `${countedAs.name} ${Math.floor(Math.random() * MANY)}`;
}

/** The work of a task: it gives its result, or throws. */
export type TaskWork = (context: Context) => Promise<CallToolResult>;

/** A request that becomes a task. */
export interface Beginning extends Work, Pick<Running, "isLive" | "countedAs"> {
  readonly authenticated: Authenticated;
  /**
   * Records the end of the task in the log, and for the person in whose name it
   * ran.
   */
  endTask(taskId: string, outcome: Outcome): void;
}

/** The tasks that this process works on. */
export class TaskRunner {
  #running = new Map<AbortController, Promise<void>>();
  #isRefusing = false;
  #stopping = new AbortController();

  #bound = new CallerBound(TASKS_PER_CALLER, "tasks at a time");

  constructor(
    private readonly tasks: TaskStore,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** Open questions. */
    private readonly questions: CallerBound,
  ) {}

  get size(): number {
    return this.#running.size;
  }

  /**
   * Creates a task for a request and begins to work on it. Reading it later
   * needs the same scopes.
   *
   * @throws {HttpError} 503 when the server stops, 429 when the caller has too
   * many
   */
  async start(
    request: Beginning,
    scopes: readonly string[],
    work: TaskWork,
  ): Promise<Task> {
    if (this.#isRefusing) {
      throw new HttpError(503, "The server is stopping", {
        "retry-after": "5",
      });
    }
    const { countedAs } = request;
    this.#bound.take(countedAs);
    const release = () => this.#bound.release(countedAs);
    const taskId = randomId(24);
    const task = await this.#create(taskId, request, scopes).catch((error) => {
      release();
      throw error;
    });
    const abort = new AbortController();
    const { signal } = abort;
    const context = new CallContext(
      new WorkOfTask(taskId, request, {
        tasks: this.tasks,
        questions: this.questions,
        signal,
        clock: this.clock,
      }),
    );
    const done = this.#work(
      taskId,
      () => work(context),
      abort,
      request,
    )
      .catch((error) =>
        this.log.error("A task could not be ended", {
          reference: taskId,
          error,
        })
      )
      .finally(() => {
        this.#running.delete(abort);
        release();
      });
    this.#running.set(abort, done);
    return task;
  }

  async #create(
    taskId: string,
    { caller, countedAs }: Pick<Work, "caller"> & Pick<Running, "countedAs">,
    scopes: readonly string[],
  ): Promise<Task> {
    const list = listOf(caller, countedAs);
    if (countedAs && await this.tasks.hasMany(list, TASKS_KEPT)) {
      throw new LimitError("tasks a day", KEPT_RETRY_SECONDS);
    }
    return await this.tasks.create(taskId, caller, scopes, list);
  }

  /** Refuses new tasks from now on. */
  refuse(): void {
    this.#isRefusing = true;
  }

  /**
   * Ends every task of this process as failed, and waits until that is stored.
   */
  async stop(): Promise<void> {
    this.refuse();
    this.#stopping.abort();
    for (const abort of this.#running.keys()) {
      abort.abort(new DOMException("The server stops", "AbortError"));
    }
    await Promise.all(this.#running.values());
  }

  async #work(
    taskId: string,
    work: () => Promise<CallToolResult>,
    abort: AbortController,
    request: Beginning,
  ): Promise<void> {
    let onAbort = STOPPED;
    const { signal } = abort;
    const endAs = (end: End) => {
      if (signal.aborted) return;
      onAbort = end;
      abort.abort(new DOMException("The task has ended", "AbortError"));
    };
    const reference = taskId;
    const heartbeat = setInterval(async () => {
      try {
        if (!await this.tasks.renewLease(taskId)) endAs(STOPPED);
      } catch (error) {
        this.log.warning("A task's lease could not be renewed", {
          reference,
          error,
        });
      }
    }, HEARTBEAT_SECONDS * 1000);
    const asking = setInterval(async () => {
      try {
        if (!await this.#isAllowed(taskId, request)) endAs(EXPELLED);
      } catch (error) {
        this.log.warning("A task's grant could not be read", {
          reference,
          error,
        });
      }
    }, LIVE_MILLISECONDS);
    const watching = new AbortController();
    // If this fails, the heartbeat notices the end a little later.
    const watched = this.tasks.ended(taskId, watching.signal).then(
      () => endAs(CANCELLED),
      () => {},
    );
    // A tool that ignores the signal must not keep a cancelled task open.
    const aborted = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), {
        once: true,
      })
    );
    try {
      const { kept, outcome } = await Promise.race([work(), aborted])
        .then(
          (result): End => ({
            kept: { status: "completed", outcome: result as JsonObject },
            outcome: result.isError ? "tool_error" : "ok",
          }),
          (error) => signal.aborted ? onAbort : this.#endOf(error, taskId),
        );
      request.endTask(taskId, outcome);
      // The work is done: its result must survive a short outage of the
      // database.
      await persist(
        () => this.tasks.end(taskId, kept),
        { signal: this.#stopping.signal },
      );
    } finally {
      clearInterval(heartbeat);
      clearInterval(asking);
      watching.abort();
      await watched;
    }
  }

  /**
   * True if the grant it began with, or the one that uses it now, is still
   * valid.
   */
  async #isAllowed(taskId: string, request: Beginning): Promise<boolean> {
    if (await request.isLive()) return true;
    const { caller, authenticated } = request;
    const grantId = await this.tasks.userOf(taskId, caller.binding);
    return grantId !== undefined &&
      await authenticated.isLive?.(grantId) === true;
  }

  #endOf(error: unknown, taskId: string): End {
    if (error instanceof ToolError) return told(error.message, "tool_error");
    if (error instanceof LimitError) return told(error.message, "refused");
    if (error instanceof HttpError || error instanceof ChallengeError) {
      if (error.status >= 500) {
        logFailure(this.log, error, { reference: taskId });
      }
      return told(inWords(error), "refused");
    }
    if (error instanceof RpcError) {
      const { code, message, data } = error;
      return {
        kept: { status: "failed", outcome: { code, message, data } },
        outcome: "refused",
      };
    }
    this.log.error("Internal error", { reference: taskId, error });
    const message = `Internal error (reference ${taskId})`;
    const outcome = { code: RpcCode.internalError, message };
    return { kept: { status: "failed", outcome }, outcome: "internal_error" };
  }
}

/** Makes the end of a task that tells the model what went wrong. */
function told(text: string, outcome: Outcome): End {
  const result = errorResult(text) as unknown as JsonObject;
  return { kept: { status: "completed", outcome: result }, outcome };
}

const MESSAGE_MILLISECONDS = 1000;

/**
 * A task in place of its request: client and tool communicate through its
 * record.
 */
class WorkOfTask implements Work {
  readonly stateless = true;
  readonly caller: Caller;
  readonly upstream?: Upstream;
  readonly client: McpClient;
  readonly meta: JsonObject;
  readonly changes: Work["changes"];
  readonly signal: AbortSignal;
  readonly #countedAs?: CountedAs;
  readonly #tasks: TaskStore;
  readonly #questions: CallerBound;
  readonly #clock: Clock;
  #count = 0;
  #keys = new Set<string>();
  #lastMessageMilliseconds = 0;

  constructor(
    readonly requestId: string,
    { caller, countedAs, upstream, client, meta, changes }:
      & Work
      & Pick<Running, "countedAs">,
    { tasks, questions, signal, clock }: {
      tasks: TaskStore;
      questions: CallerBound;
      signal: AbortSignal;
      clock: Clock;
    },
  ) {
    this.#countedAs = countedAs;
    this.#tasks = tasks;
    this.#questions = questions;
    this.#clock = clock;
    this.signal = signal;
    this.caller = caller;
    this.upstream = upstream;
    this.client = client;
    this.meta = meta;
    this.changes = changes;
  }

  get progressToken(): string {
    return this.requestId;
  }

  /**
   * Tasks have no notifications; the message of progress becomes the status.
   */
  async notify(method: string, { message }: JsonObject): Promise<void> {
    if (method !== "notifications/progress") return;
    if (typeof message !== "string") return;
    const now = this.#clock();
    if (now - this.#lastMessageMilliseconds < MESSAGE_MILLISECONDS) return;
    this.#lastMessageMilliseconds = now;
    // Only a message: the work goes on without it.
    await tidy(() => this.#tasks.setMessage(this.requestId, message));
  }

  async request(
    method: string,
    params: JsonObject,
    key?: string,
  ): Promise<JsonObject> {
    this.#questions.take(this.#countedAs);
    try {
      return await this.#tasks.ask(
        this.requestId,
        this.#unusedKey(key ?? method.split("/")[0]),
        { method, params },
        this.signal,
      );
    } finally {
      this.#questions.release(this.#countedAs);
    }
  }

  /** Makes a key unique among the questions of one task. */
  #unusedKey(name: string): string {
    let key = name;
    while (this.#keys.has(key)) key = `${name}-${++this.#count}`;
    this.#keys.add(key);
    return key;
  }
}
