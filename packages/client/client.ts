/**
 * An MCP client of both generations: sessions of 2025 and requests of
 * 2026-07-28, with questions, progress and tasks.
 *
 * @module
 * @see MCP 2025-11-25 and 2026-07-28
 */
import type { RequestOptions } from "./exchange.ts";
import { TaskExchange } from "./task_exchange.ts";
import type { Json, Message, TaskState } from "./connection.ts";

/** A list of a server, as far as it was read. */
export interface ListRead {
  items: Json[];
  pages: number;
  /** True if there are more pages. */
  hasMore: boolean;
}

/**
 * A client of one server, as one caller.
 *
 * The class uses nothing of its module but its base class, because the
 * development page for views runs its source text in a browser.
 *
 * @example
 * ```ts
 * import { Client } from "./client.ts";
 *
 * const client = new Client({
 *   url: "http://localhost/mcp",
 *   fetch: () => Response.json({ jsonrpc: "2.0", id: 1, result: { tools: [] } }),
 * });
 * const { tools } = await client.request("tools/list");
 * ```
 */
export class Client extends TaskExchange {
  /**
   * The time that `tasks/cancel` may take, after the signal of its request has
   * fired.
   */
  static readonly CANCEL_MILLISECONDS = 3000;

  /**
   * Returns the result of `server/discover`, or, in a session, that of
   * `initialize`, which is sent once.
   */
  async discover(): Promise<Json> {
    return this.revision === "2026-07-28"
      ? await this.request("server/discover")
      : await this.opening();
  }

  /**
   * Sends a request, answers the questions it raises, waits for the task it may
   * become, and returns its result.
   *
   * @throws {ServerError} if the server answers with an error
   */
  async request(
    method: string,
    params: Json = {},
    options: RequestOptions = {},
  ): Promise<Json> {
    const result = await this.begin(method, params, options);
    if (result.resultType !== "task") return result;
    const { taskId } = result as TaskState;
    try {
      return await this.follow({ taskId }, options);
    } catch (error) {
      if (!options.signal?.aborted) throw error;
      // An error of `tasks/cancel` would hide the reason.
      const signal = AbortSignal.timeout(Client.CANCEL_MILLISECONDS);
      await this.begin("tasks/cancel", { taskId }, { signal }).catch(() => {});
      throw options.signal.reason;
    }
  }

  /**
   * Reads a list of objects, page after page.
   *
   * @param member the member of a page that has the items
   * @param mostPages the maximum number of pages that are read, because a list
   * may have no end
   * @throws {ServerError}
   */
  async list(
    method: string,
    member: string,
    mostPages = Infinity,
    options?: RequestOptions,
  ): Promise<ListRead> {
    const items: Json[] = [];
    let cursor: unknown;
    let pages = 0;
    do {
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.request(method, params, options);
      // The items are added one by one, because a call takes no more arguments
      // than fit onto the stack.
      for (const it of Array.isArray(page[member]) ? page[member] : []) {
        if (typeof it === "object" && it && !Array.isArray(it)) items.push(it);
      }
      cursor = page.nextCursor;
    } while (++pages < mostPages && cursor !== undefined);
    return { items, pages, hasMore: cursor !== undefined };
  }

  /**
   * Waits for the end of a task of 2026-07-28 and answers its questions, unless
   * they are answered elsewhere meanwhile. If the server has no stream of the
   * task's changes, or if the stream ends, the state is polled. While no server
   * answers, each request is tried again for a minute.
   *
   * @throws {ServerError} when the task failed
   * @throws {DOMException} `AbortError` when the task was cancelled
   */
  async follow(
    { taskId }: Pick<TaskState, "taskId">,
    options: RequestOptions = {},
  ): Promise<Json> {
    /** Fires with the reason if a question could not be answered. */
    const failing = new AbortController();
    const signal = options.signal
      ? AbortSignal.any([options.signal, failing.signal])
      : failing.signal;
    /** The questions that were passed to `onQuestion`, by key. */
    const asked = new Map<string, AbortController>();
    let answering = Promise.resolve();
    const onState = (state: TaskState, response: Response) => {
      const open = this.openQuestions(state, asked);
      if (open) {
        answering = answering
          .then(() => this.answerTask(taskId, open, asked, signal))
          .catch((error) => failing.abort(error));
      }
      return this.#settle(state, response);
    };
    try {
      for (;;) {
        const heard = await this.#hear(taskId, onState, signal);
        if (heard) return heard;
        signal.throwIfAborted();
        const got = await this.postToTask("tasks/get", { taskId }, signal);
        const state = await this.read(got) as TaskState;
        const result = onState(state, got);
        if (result) return result;
        await Client.pause(Number(state.pollIntervalMs) || 1000, signal);
      }
    } catch (error) {
      failing.signal.throwIfAborted();
      throw error;
    } finally {
      for (const question of asked.values()) question.abort();
      // The answer that led to the end of the task may still be under way.
      await answering;
    }
  }

  /**
   * Listens to a task while its stream lasts. Returns the result if the task
   * ended meanwhile.
   */
  async #hear(
    taskId: string,
    onState: (state: TaskState, response: Response) => Json | undefined,
    signal?: AbortSignal,
  ): Promise<Json | undefined> {
    const notifications = { taskIds: [taskId] };
    const response = await this.postToTask(
      "subscriptions/listen",
      { notifications },
      signal,
    );
    const messages = this.messages(response);
    const onBroken = (error: unknown) => {
      if (signal?.aborted || !(error instanceof TypeError)) throw error;
      // A stream that the network has cut says nothing about the task.
      return { value: undefined };
    };
    for (;;) {
      const { value } = await messages.next().catch(onBroken);
      if (!value) return undefined;
      const { method, params, error } = value as Message;
      if (error && error.code !== -32601) throw this.failure(error, response);
      if (method !== "notifications/tasks") continue;
      const state = params as TaskState;
      if (state.taskId !== taskId) continue;
      const result = onState(state, response);
      if (!result) continue;
      await messages.return(undefined);
      return result;
    }
  }

  /** Returns the result of a task if it has one. @throws {ServerError} */
  #settle(state: TaskState, response: Response): Json | undefined {
    const { taskId } = state;
    this.options.onTask?.(state);
    switch (state.status) {
      case "completed":
        return state.result as Json;
      case "failed":
        throw Object.assign(
          this.failure(state.error as Message["error"] & Json, response),
          { taskId },
        );
      case "cancelled":
        throw new DOMException("The task was cancelled", "AbortError");
    }
  }
}
