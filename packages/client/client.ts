/**
 * An MCP client of all revisions, with or without sessions: questions, progress
 * and tasks.
 *
 * @module
 * @see MCP 2025-11-25 and 2026-07-28
 */
import {
  Connection,
  type Json,
  type Message,
  type Question,
  type TaskState,
} from "./connection.ts";

export interface RequestOptions {
  /** Cancels the request, as its MCP revision prescribes. */
  signal?: AbortSignal;
}

/** The items of a list that were read. */
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
export class Client extends Connection {
  /**
   * The time limit of `tasks/cancel`, once the signal of its request has fired.
   */
  static readonly CANCEL_MILLISECONDS = 3000;

  /**
   * Returns the result of `server/discover`; in a session, of `initialize`,
   * which is sent once.
   */
  async discover(): Promise<Json> {
    return this.revision === "2026-07-28"
      ? await this.request("server/discover")
      : await this.opening();
  }

  /**
   * Sends a request, answers its questions, waits for the task that it may
   * become, and returns its result.
   *
   * @throws {ServerError} if the server responds with an error
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
   * Waits for the end of a task (MCP 2026-07-28) and answers its questions,
   * unless they are answered elsewhere. If the server has no stream of the
   * task's changes, or if the stream ends, the state is polled. While the server
   * is away or busy, each request is repeated for a minute.
   *
   * @throws {ServerError} if the task failed
   * @throws {DOMException} `AbortError` if the task was cancelled
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
      const open = this.#openQuestions(state, asked);
      if (open) {
        answering = answering
          .then(() => this.#answerTask(taskId, open, asked, signal))
          .catch((error) => failing.abort(error));
      }
      return this.#settle(state, response);
    };
    try {
      for (;;) {
        const heard = await this.#hear(taskId, onState, signal);
        if (heard) return heard;
        signal.throwIfAborted();
        const [state, got] = await this.#postToTask(
          "tasks/get",
          { taskId },
          async (got) => [await this.read(got) as TaskState, got] as const,
          signal,
        );
        const result = onState(state, got);
        if (result) return result;
        await Client.#pause(Number(state.pollIntervalMs) || 1000, signal);
      }
    } catch (error) {
      failing.signal.throwIfAborted();
      throw error;
    } finally {
      for (const question of asked.values()) question.abort();
      // The answer that ended the task may still be on its way.
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
    const response = await this.#postToTask(
      "subscriptions/listen",
      { notifications },
      (response) => response,
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

  /**
   * Returns the result of a task if it has one.
   *
   * @throws {ServerError} if the task failed
   * @throws {DOMException} `AbortError` if it was cancelled
   * @throws {Error} if it completed without a result, or has an unknown status
   */
  #settle(state: TaskState, response: Response): Json | undefined {
    const { taskId } = state;
    this.options.onTask?.(state);
    switch (state.status) {
      case "working":
      case "input_required":
        return undefined;
      case "completed":
        if (typeof state.result === "object" && state.result) {
          return state.result as Json;
        }
        throw new Error("The task has completed without a result");
      case "failed":
        throw Object.assign(
          this.failure(state.error as Message["error"] & Json, response),
          { taskId },
        );
      case "cancelled":
        throw new DOMException("The task was cancelled", "AbortError");
      default:
        throw new Error("The task has a status that is not known");
    }
  }

  /** The abort reason's message for a question that was answered elsewhere. */
  static readonly ANSWERED = "Answered elsewhere";

  /**
   * Returns the questions of a task that were not asked yet. Undefined if there
   * are none. Withdraws questions that the task no longer waits for.
   */
  #openQuestions(
    { status, inputRequests, result }: TaskState,
    asked: Map<string, AbortController>,
  ): Json | undefined {
    const all = status === "input_required" ? inputRequests as Json : {};
    for (const [key, question] of asked) {
      if (Object.hasOwn(all, key)) continue;
      // The time of the question may be up: the result says so.
      const isOver = status === "failed" || status === "cancelled" ||
        Object(result).isError === true;
      question.abort(
        new DOMException(isOver ? "" : Client.ANSWERED, "AbortError"),
      );
    }
    const open = Object.entries(all).filter(([key]) => !asked.has(key));
    for (const [key] of open) asked.set(key, new AbortController());
    return open.length > 0 ? Object.fromEntries(open) : undefined;
  }

  /** Answers the questions of a task, except those answered elsewhere. */
  async #answerTask(
    taskId: string,
    open: Json,
    asked: ReadonlyMap<string, AbortController>,
    signal: AbortSignal,
  ): Promise<void> {
    const signals = new Map(
      Object.keys(open).map((key) => [key, asked.get(key)!.signal]),
    );
    const inputResponses = await this.#answerAll(open, signals);
    if (Object.keys(inputResponses).length === 0) return;
    const answers = { taskId, inputResponses };
    await this.#postToTask(
      "tasks/update",
      answers,
      (response) => this.read(response),
      signal,
    );
  }

  /** The statuses of a server that is away or busy for now. */
  static readonly #LATER = [429, 500, 502, 503, 504];

  /**
   * Posts a request and reads the response. Repeats both for a minute while the
   * server is away or busy.
   */
  async #postToTask<T>(
    method: string,
    params: Json,
    read: (response: Response) => T | Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const { onAnswering } = this.options;
    let isAnswering = true;
    for (let left = 60;;) {
      let seconds = 1;
      try {
        const response = await this.post(method, params, signal);
        const isLater = Client.#LATER.includes(response.status);
        if (!isLater || left <= 0) {
          const got = await read(response);
          if (!isAnswering) onAnswering?.(true);
          return got;
        }
        await response.body?.cancel();
        const after = Number(response.headers.get("retry-after"));
        if (after > 1) seconds = after;
      } catch (error) {
        signal?.throwIfAborted();
        const { cause = error } = error as Error;
        if (left <= 0 || !(cause instanceof TypeError)) throw error;
      }
      if (isAnswering) onAnswering?.(false);
      isAnswering = false;
      await Client.#pause(seconds * 1000, signal);
      left -= seconds;
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

  /** Sends a request, and answers its questions. The result may be a task. */
  async begin(
    method: string,
    params: Json = {},
    { signal }: RequestOptions = {},
  ): Promise<Json> {
    signal?.throwIfAborted();
    try {
      return this.revision === "2026-07-28"
        ? await this.#requestInRounds(method, params, signal)
        : await this.#requestInSession(method, params, signal);
    } catch (error) {
      // If the signal cut the stream, that is no error of its own.
      signal?.throwIfAborted();
      throw error;
    }
  }

  async #requestInRounds(
    method: string,
    params: Json,
    signal?: AbortSignal,
  ): Promise<Json> {
    let more: Json = {};
    for (let round = 0; round <= Client.#MAX_ROUNDS; round++) {
      const response = await this.post(method, { ...params, ...more }, signal);
      const result = await this.read(response);
      if (result.resultType !== "input_required") return result;
      this.options.onRound?.();
      const { inputRequests, requestState } = result;
      const inputResponses = await this.#answerAll(inputRequests as Json);
      more = { requestState, inputResponses };
    }
    throw new Error(
      `${method} is not answered after ${Client.#MAX_ROUNDS} rounds`,
    );
  }

  async #requestInSession(
    method: string,
    params: Json,
    signal?: AbortSignal,
  ): Promise<Json> {
    const request = await this.encode(method, params);
    signal?.throwIfAborted();
    const { id: requestId } = JSON.parse(request.body);
    const abort = new AbortController();
    let cancelling: Promise<void> | undefined;
    let pings = 0;
    const cancel = () =>
      cancelling ??= this.notify({
        method: "notifications/cancelled",
        params: { requestId },
        // An error of this notification would hide the reason.
      }).catch(() => {}).finally(() => abort.abort());
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      return await this.read(
        await this.send(request, abort.signal),
        async ({ id, method, params = {} }) => {
          if (method === "ping" && ++pings > Client.#MAX_PINGS) {
            throw new Error("The server sends pings without end");
          }
          const result = method === "ping"
            ? {}
            : await this.#answer({ method: method!, params });
          await this.notify({ id, result });
        },
      );
    } catch (error) {
      // The server may still wait for an answer that it will not get.
      if (!(error instanceof Error && "response" in error)) await cancel();
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancel);
      await cancelling;
    }
  }

  /**
   * Answers the questions of one round, by key. Omits questions whose answer is
   * no longer needed.
   */
  async #answerAll(
    inputRequests: Json,
    signals?: ReadonlyMap<string, AbortSignal>,
  ): Promise<Json> {
    const answers: Json = {};
    for (const [key, asked] of Object.entries(inputRequests)) {
      const signal = signals?.get(key);
      if (signal?.aborted) continue;
      try {
        const question = { ...asked as Question, key, signal };
        answers[key] = await this.#answer(question);
      } catch (error) {
        if (!signal?.aborted) throw error;
      }
    }
    for (const [key, signal] of signals ?? []) {
      if (signal.aborted) delete answers[key];
    }
    return answers;
  }

  async #answer(question: Question): Promise<Json> {
    const { onQuestion } = this.options;
    if (onQuestion) return await onQuestion(question);
    throw new Error(`The server asks ${question.method}: nothing answers here`);
  }

  /** The maximum number of pings in one request. */
  static readonly #MAX_PINGS = 1000;
  /**
   * The maximum number of rounds of one request, because a server could ask
   * without end.
   */
  static readonly #MAX_ROUNDS = 100;
}
