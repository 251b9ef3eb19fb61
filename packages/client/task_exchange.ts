/**
 * Requests about a task: its questions and their answers, and requests that are
 * repeated while no server answers.
 *
 * @module
 * @see MCP extension io.modelcontextprotocol/tasks
 */
import type { Json, TaskState } from "./connection.ts";
import { Exchange } from "./exchange.ts";

/** An exchange that knows tasks. */
export class TaskExchange extends Exchange {
  /**
   * The message of the reason with which a question's signal fires if the
   * question was answered elsewhere.
   */
  static readonly ANSWERED = "Answered elsewhere";

  /**
   * Returns the questions of a task that were not asked yet; undefined if there
   * are none. Withdraws those that the task no longer waits for.
   */
  protected openQuestions(
    { status, inputRequests }: TaskState,
    asked: Map<string, AbortController>,
  ): Json | undefined {
    const all = status === "input_required" ? inputRequests as Json : {};
    for (const [key, question] of asked) {
      if (Object.hasOwn(all, key)) continue;
      const isOver = status === "failed" || status === "cancelled";
      question.abort(
        new DOMException(isOver ? "" : TaskExchange.ANSWERED, "AbortError"),
      );
    }
    const open = Object.entries(all).filter(([key]) => !asked.has(key));
    for (const [key] of open) asked.set(key, new AbortController());
    return open.length > 0 ? Object.fromEntries(open) : undefined;
  }

  /**
   * Answers the questions of a task, except those that someone else has
   * answered.
   */
  protected async answerTask(
    taskId: string,
    open: Json,
    asked: ReadonlyMap<string, AbortController>,
    signal: AbortSignal,
  ): Promise<void> {
    const signals = new Map(
      Object.keys(open).map((key) => [key, asked.get(key)!.signal]),
    );
    const inputResponses = await this.answerAll(open, signals);
    if (Object.keys(inputResponses).length === 0) return;
    const answers = { taskId, inputResponses };
    await this.read(await this.postToTask("tasks/update", answers, signal));
  }

  /**
   * Posts a request, and repeats it while no server answers: a server that
   * restarts is back soon.
   */
  protected async postToTask(
    method: string,
    params: Json,
    signal?: AbortSignal,
  ): Promise<Response> {
    const { onAnswering } = this.options;
    let isAnswering = true;
    for (let left = 60;; left--) {
      try {
        const response = await this.post(method, params, signal);
        if (![502, 503, 504].includes(response.status)) {
          if (!isAnswering) onAnswering?.(true);
          return response;
        }
        if (left === 0) return response;
        await response.body?.cancel();
      } catch (error) {
        signal?.throwIfAborted();
        const { cause = error } = error as Error;
        if (left === 0 || !(cause instanceof TypeError)) throw error;
      }
      if (isAnswering) onAnswering?.(false);
      isAnswering = false;
      await TaskExchange.pause(1000, signal);
    }
  }

  /** Waits before a task's state is read again, for 0.1 to 60 seconds. */
  protected static async pause(
    milliseconds: number,
    signal?: AbortSignal,
  ): Promise<void> {
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = () => reject(signal!.reason);
    signal?.addEventListener("abort", stop, { once: true });
    const timer = setTimeout(
      resolve,
      Math.min(Math.max(100, milliseconds), 60_000),
    );
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }
}
