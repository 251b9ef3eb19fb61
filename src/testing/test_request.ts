/**
 * One request of a client in a test, with all of its rounds.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import {
  CAPABILITIES,
  CLIENT_INFO,
  sessionPost,
  statelessPost,
} from "./client_messages.ts";
import { Conversation } from "./conversation.ts";
import { RefusedError } from "./refused.ts";

/** A request of a client. */
export class TestRequest extends Conversation {
  /**
   * Sends the request, answers what is asked, and gives its result.
   *
   * @throws {RefusedError} when the server refuses
   */
  async run(method: string, params: JsonObject = {}): Promise<JsonObject> {
    const { signal } = this.options;
    signal?.throwIfAborted();
    try {
      return this.revision === "2026-07-28"
        ? await this.#runRounds(method, params)
        : await this.#runInSession(method, params);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      this.checkRoutes();
    }
  }

  /** Sends one 2026 request; its answer may be a stream. */
  post(
    method: string,
    params: JsonObject,
    signal?: AbortSignal,
  ): Promise<Response> {
    const tool = method === "tools/call" &&
      this.target.catalogue.tools.get(`${params.name}`);
    const { capabilities } = this.options;
    const paramHeaders = tool ? tool.paramHeaders : undefined;
    return this.send(
      statelessPost(method, params, { capabilities, paramHeaders }),
      signal,
    );
  }

  /** Sends one 2026 request and gives its result. */
  async ask(
    method: string,
    params: JsonObject,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    return await this.read(await this.post(method, params, signal));
  }

  async #runRounds(method: string, params: JsonObject): Promise<JsonObject> {
    let more: JsonObject = {};
    for (;;) {
      const result = await this.ask(
        method,
        { ...params, ...more },
        this.options.signal,
      );
      if (result.resultType !== "input_required") return result;
      // The tool runs again from its beginning, and repeats these messages.
      this.progress.length = this.logs.length = 0;
      const { inputRequests, requestState } = result;
      more = { requestState, inputResponses: this.answerAll(inputRequests) };
    }
  }

  /** Answers the questions of one round, by key. */
  answerAll(inputRequests: unknown): JsonObject {
    const questions = Object.entries(
      inputRequests as Record<string, { method: string; params: JsonObject }>,
    );
    return Object.fromEntries(
      questions.map(([key, { method, params }]) =>
        [key, this.script.answer(method, params, key)] as const
      ),
    );
  }

  /**
   * Runs the request in a new session: nothing else in a server depends on it.
   */
  async #runInSession(method: string, params: JsonObject): Promise<JsonObject> {
    const { signal } = this.options;
    const session = await this.#openSession();
    const id = 2;
    const cancel = () =>
      session.post({
        method: "notifications/cancelled",
        params: { requestId: id },
      });
    let cancelling: Promise<Response> | undefined;
    const onAbort = () => cancelling = cancel();
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      const _meta = { progressToken: "progress" };
      const request = { id, method, params: { ...params, _meta } };
      return await this.read(
        await session.post(request),
        async ({ id, method, params = {} }) => {
          const result = this.script.answer(method!, params);
          await session.post({ id, result });
        },
      );
    } catch (error) {
      // A tool may still wait for an answer that it will not get.
      if (!(error instanceof RefusedError)) await (cancelling ?? cancel());
      throw error;
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async #openSession() {
    const { capabilities = CAPABILITIES } = this.options;
    const protocolVersion = this.revision;
    const params = { protocolVersion, capabilities, clientInfo: CLIENT_INFO };
    const opened = await this.send(
      sessionPost({ id: 0, method: "initialize", params }),
    );
    await this.read(opened);
    const sessionId = opened.headers.get("mcp-session-id")!;
    const post = (message: JsonObject) =>
      this.send(sessionPost(message, sessionId));
    await post({ method: "notifications/initialized" });
    const level = { level: "debug" };
    const set = await post({
      id: 1,
      method: "logging/setLevel",
      params: level,
    });
    await this.read(set);
    return { post };
  }
}
