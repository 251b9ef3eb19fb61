/**
 * An MCP client of both generations: sessions of 2025 and requests of
 * 2026-07-28, with questions, progress and tasks.
 *
 * @module
 * @see MCP 2025-11-25 and 2026-07-28
 */
import { Exchange, type RequestOptions } from "./exchange.ts";
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
export class Client extends Exchange {
  /** The time that `tasks/cancel` may take after its request was cancelled. */
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
      // A refusal of this would hide the reason.
      const signal = AbortSignal.timeout(Client.CANCEL_MILLISECONDS);
      await this.begin("tasks/cancel", { taskId }, { signal }).catch(() => {});
      throw options.signal.reason;
    }
  }

  /**
   * Reads a list of objects, page after page.
   *
   * @param member the member of a page that has the items
   * @param mostPages the bound of a list that may have no end
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
      // One by one: a call takes no more arguments than fit onto the stack.
      for (const it of Array.isArray(page[member]) ? page[member] : []) {
        if (typeof it === "object" && it && !Array.isArray(it)) items.push(it);
      }
      cursor = page.nextCursor;
    } while (++pages < mostPages && cursor !== undefined);
    return { items, pages, hasMore: cursor !== undefined };
  }

  /**
   * Waits for the end of a task of 2026-07-28 and answers its questions. If the
   * server has no stream of the task's changes, or it ends, the state is
   * polled. While no server answers, each request is tried again for a minute.
   *
   * @throws {ServerError} when it failed
   * @throws {DOMException} `AbortError` when it was cancelled
   */
  async follow(
    { taskId }: Pick<TaskState, "taskId">,
    { signal }: RequestOptions = {},
  ): Promise<Json> {
    const isAnswered = new Set<string>();
    for (;;) {
      const heard = await this.#hear(taskId, isAnswered, signal);
      if (heard) return heard;
      signal?.throwIfAborted();
      const asked = await this.#postToTask("tasks/get", { taskId }, signal);
      const state = await this.read(asked) as TaskState;
      const result = await this.#settle(state, asked, isAnswered, signal);
      if (result) return result;
      await Client.#pause(Number(state.pollIntervalMs) || 1000, signal);
    }
  }

  /**
   * Listens to a task while its stream lasts. Returns the result if the task
   * ended meanwhile.
   */
  async #hear(
    taskId: string,
    isAnswered: Set<string>,
    signal?: AbortSignal,
  ): Promise<Json | undefined> {
    const notifications = { taskIds: [taskId] };
    const response = await this.#postToTask(
      "subscriptions/listen",
      { notifications },
      signal,
    );
    const messages = this.messages(response);
    const onBroken = (error: unknown) => {
      if (signal?.aborted || !(error instanceof TypeError)) throw error;
      // A stream that the network cut says nothing about the task.
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
      const result = await this.#settle(state, response, isAnswered, signal);
      if (!result) continue;
      await messages.return(undefined);
      return result;
    }
  }

  /** Answers the questions of a task. Returns its result if it has one. */
  async #settle(
    state: TaskState,
    response: Response,
    isAnswered: Set<string>,
    signal?: AbortSignal,
  ): Promise<Json | undefined> {
    const { taskId } = state;
    this.options.onTask?.(state);
    switch (state.status) {
      case "input_required": {
        const open = Object.entries(state.inputRequests as Json)
          .filter(([key]) => !isAnswered.has(key));
        if (open.length === 0) return;
        for (const [key] of open) isAnswered.add(key);
        const inputResponses = await this.answerAll(Object.fromEntries(open));
        const answers = { taskId, inputResponses };
        await this.read(
          await this.#postToTask("tasks/update", answers, signal),
        );
        return;
      }
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

  /**
   * Posts a request, again while no server answers: one that restarts is back
   * soon.
   */
  async #postToTask(
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
      await Client.#pause(1000, signal);
    }
  }

  /** Waits before a task's state is read again, for 0.1 to 60 seconds. */
  static async #pause(
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
