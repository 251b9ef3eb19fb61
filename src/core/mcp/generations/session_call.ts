/**
 * A request in an MCP 2025 session. Its questions are sent on its own stream;
 * the client may POST the response to any process.
 * @module
 * @see MCP 2025-11-25, Transports
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import { randomId } from "../../crypto/crypto.ts";
import type { Cancellable } from "../../store/cancellations.ts";
import type { McpClient } from "../../../authoring/context.ts";
import { ToolError } from "../../../authoring/tool.ts";
import type { PrintedLists } from "../../catalogue/printed_lists.ts";
import type { JsonObject } from "../../json.ts";
import { QuestionError } from "../../protocol/elicitation.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import type { RpcRequest } from "../../protocol/messages.ts";
import { telemetry } from "../../telemetry/current.ts";
import { Call } from "../exchange/call.ts";
import { suspend } from "../exchange/suspension.ts";
import type { Answer } from "../exchange/answer.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { PendingResponse } from "../exchange/pending_response.ts";
import type { MethodEngine } from "../methods/method_engine.ts";
import type { SessionRequest } from "./session.ts";

export class SessionCall extends Call {
  readonly stateless = false;
  override readonly sessionId: string;
  declare readonly engine: MethodEngine;
  readonly client: McpClient;
  readonly logLevel: LoggingLevel;
  /** The number of open questions of this request. */
  #asked = 0;

  constructor(
    engine: MethodEngine,
    message: RpcRequest,
    found: SessionRequest,
    response?: PendingResponse,
  ) {
    super(engine, message, found, response);
    const { session, sessionId } = found;
    const { clientInfo: info, capabilities, revision, logLevel } = session;
    this.sessionId = sessionId;
    this.client = { info, capabilities, revision };
    this.logLevel = logLevel ?? "info";
  }

  get printedLists(): PrintedLists {
    return this.catalogue.session;
  }

  get cancellable(): Cancellable {
    return {
      sessionId: this.sessionId,
      requestId: this.message.id,
      startedMilliseconds: this.startedMilliseconds,
    };
  }

  /**
   * True while the session is open and the grant is active. So the end of the
   * session, in any process, ends its calls.
   */
  override async isLive(): Promise<boolean> {
    return await super.isLive() &&
      await this.engine.sessions.find(this.sessionId) !== undefined;
  }

  suspend(answer: () => MaybePromise<Answer>): Promise<void> {
    return suspend(this, answer);
  }

  get isAsking(): boolean {
    return this.#asked > 0;
  }

  async request(
    { method, params }: AskedQuestion,
    signal?: AbortSignal,
  ): Promise<JsonObject> {
    // A closed stream cannot be resumed, so the question would never arrive.
    if (this.execution.hasEnded || this.response.hasEnded) {
      throw new ToolError(`The client left before ${method}`);
    }
    const { questions } = this.engine;
    questions.take(this.limitKey);
    this.#asked++;
    try {
      return await (telemetry
        ? telemetry.question(method, () => this.#ask(method, params, signal))
        : this.#ask(method, params, signal));
    } catch (error) {
      throw this.signal.aborted ? this.signal.reason : error;
    } finally {
      this.#asked--;
      questions.release(this.limitKey);
    }
  }

  async #ask(
    method: string,
    params: JsonObject,
    unwanted?: AbortSignal,
  ): Promise<JsonObject> {
    const { replies } = this.engine;
    const id = randomId(16);
    // Stored before the question is sent, for a response that comes at once.
    await replies.expect(this.sessionId, id);
    await this.response.send(
      JSON.stringify({ jsonrpc: "2.0", id, method, params }),
    );
    const signal = AbortSignal.any([
      this.signal,
      this.#leaving(method),
      ...unwanted ? [unwanted] : [],
    ]);
    const withdraw = () => {
      if (this.execution.hasEnded) return;
      this.notify("notifications/cancelled", { requestId: id });
    };
    unwanted?.addEventListener("abort", withdraw);
    const reply = await replies.take(this.sessionId, id, signal)
      .finally(() => unwanted?.removeEventListener("abort", withdraw));
    if (!reply) throw new ToolError(`The client did not answer ${method}`);
    const { result, error } = reply;
    if (result) return result;
    throw new QuestionError(method, error?.message);
  }

  /**
   * Makes a signal that fires when the client closes the stream of the
   * question.
   */
  #leaving(method: string): AbortSignal {
    const { response } = this;
    const { onGone } = response;
    const abort = new AbortController();
    response.onGone = () => {
      onGone();
      abort.abort(
        new ToolError(`The client left before it answered ${method}`),
      );
    };
    if (response.hasEnded) response.onGone();
    return abort.signal;
  }
}
