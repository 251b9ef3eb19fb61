/**
 * Requests to a server with the questions that they raise, in rounds or on the
 * request's own stream.
 *
 * @module
 * @see MCP 2025-11-25 and 2026-07-28, elicitation
 */
import type { Json, Question } from "./connection.ts";
import { Session } from "./session.ts";

export interface RequestOptions {
  /** Cancels the request in the way of its protocol revision. */
  signal?: AbortSignal;
}

/** A session that sends requests and answers the questions that they raise. */
export class Exchange extends Session {
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
    for (let round = 0; round <= Exchange.#MAX_ROUNDS; round++) {
      const response = await this.post(method, { ...params, ...more }, signal);
      const result = await this.read(response);
      if (result.resultType !== "input_required") return result;
      this.options.onRound?.();
      const { inputRequests, requestState } = result;
      const inputResponses = await this.answerAll(inputRequests as Json);
      more = { requestState, inputResponses };
    }
    throw new Error(
      `${method} is not answered after ${Exchange.#MAX_ROUNDS} rounds`,
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
      }).finally(() => abort.abort());
    // `await cancelling` below reports a failure too, but not while a question
    // goes unanswered: then no one awaits it.
    const onAbort = () => void cancel().catch(() => {});
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await this.read(
        await this.send(request, abort.signal),
        async ({ id, method, params = {} }) => {
          if (method === "ping" && ++pings > Exchange.#MAX_PINGS) {
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
      signal?.removeEventListener("abort", onAbort);
      await cancelling;
    }
  }

  /**
   * Answers the questions of one round, by key. Leaves out questions that no
   * one waits for any more.
   */
  protected async answerAll(
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
