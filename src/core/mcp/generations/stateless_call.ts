/**
 * A request of MCP 2026-07-28. A question ends the request with an
 * `InputRequiredResult`; a client cancels by closing the stream.
 * @module
 * @see MCP 2026-07-28, Multi Round-Trip Requests and Cancellation
 */
import type { LoggingLevel } from "@modelcontextprotocol/server";
import { randomId } from "../../crypto/crypto.ts";
import { now } from "../../clock.ts";
import type { McpClient } from "../../../authoring/context.ts";
import { ToolError } from "../../../authoring/tool.ts";
import type { PrintedLists } from "../../catalogue/printed_lists.ts";
import {
  InputRounds,
  openRequestState,
  REQUEST_STATE_SECONDS,
  type RequestState,
  sealRequestState,
  type StateBinding,
} from "../../protocol/input_rounds.ts";
import {
  invalidParams,
  type RpcRequest,
  shown,
} from "../../protocol/messages.ts";
import { isObject, type JsonObject } from "../../json.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import type { StatelessMeta } from "../../protocol/request_meta.ts";
import { STATELESS_REVISION } from "../../protocol/revisions.ts";
import type { Answer, PendingResponse } from "../exchange/answer.ts";
import { Call } from "../exchange/call.ts";
import type { AdmittedRequest } from "../exchange/engine.ts";
import type { Method } from "../exchange/run.ts";
import { warn } from "../exchange/report.ts";
import { suspend } from "../exchange/suspension.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { EngineCall, MethodEngine } from "../methods/method_engine.ts";

/** The methods that may end with questions, and so accept `inputResponses`. */
const ASKING: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

/**
 * The time after which the response becomes a stream, even if there is nothing
 * to send yet. A client can cancel only by disconnecting. If the request body
 * came in a later packet than the headers, Deno notices that only after the
 * response has begun. The price: a large result of a slow call is one event,
 * and some clients refuse events of more than 1 MiB (Python SDK 2.3).
 */
const SLOW_MILLISECONDS = 1000;

export class StatelessCall extends Call {
  readonly stateless = true;
  override readonly slowMilliseconds = SLOW_MILLISECONDS;
  declare readonly engine: MethodEngine;
  readonly client: McpClient;
  readonly logLevel?: LoggingLevel;
  #rounds?: InputRounds;
  #suspending?: ReturnType<typeof setTimeout>;

  constructor(
    engine: MethodEngine,
    message: RpcRequest,
    admitted: AdmittedRequest,
    { clientInfo: info, clientCapabilities, logLevel }: StatelessMeta,
  ) {
    super(engine, message, admitted);
    const capabilities = clientCapabilities;
    this.client = { info, capabilities, revision: STATELESS_REVISION };
    this.logLevel = logLevel;
  }

  get printedLists(): PrintedLists {
    return this.catalogue.stateless;
  }

  /**
   * Wraps a method so that it first reads the answers (`inputResponses`) in the
   * request.
   */
  resuming(method: Method<EngineCall>): Method<EngineCall> {
    const { requestState, inputResponses } = this.params;
    const isFirst = requestState === undefined && inputResponses === undefined;
    if (isFirst || !ASKING.has(this.message.method)) return method;
    return async () => {
      await this.#resume();
      return await method(this);
    };
  }

  protected override pendingResponse(): PendingResponse {
    const response = super.pendingResponse();
    response.onGone = () =>
      this.execution.cancel("the client closed the stream");
    return response;
  }

  get isAsking(): boolean {
    return this.#suspending !== undefined;
  }

  override recall(question: AskedQuestion): JsonObject | undefined {
    return this.#rounds?.ask(question);
  }

  sentAnswer(key: string): JsonObject | undefined {
    return this.#rounds?.find(key);
  }

  async request(question: AskedQuestion): Promise<JsonObject> {
    if (this.execution.hasEnded) {
      throw new ToolError(`The client left before ${question.method}`);
    }
    this.#rounds ??= new InputRounds();
    const answer = this.#rounds.ask(question);
    if (answer) return answer;
    // A macrotask later, so that questions asked in parallel are sent together.
    clearTimeout(this.#suspending);
    this.#suspending = setTimeout(() => this.#suspend(), 0);
    // Never settles: the run ends here, and the code that awaits this promise
    // is garbage collected.
    return await new Promise(() => {});
  }

  suspend(answer: () => MaybePromise<Answer>): Promise<void> {
    return suspend(this, answer);
  }

  mayAskAgain(key: string): boolean {
    return this.#rounds?.reopen(key) === true;
  }

  /** Ends this round, and so the tool's run, with the open questions. */
  async #suspend(): Promise<void> {
    const ask = async (): Promise<Answer> => {
      const inputRequests = Object.fromEntries(this.#rounds!.open);
      return { ask: { inputRequests, requestState: await this.#sealState() } };
    };
    await suspend(this, ask, () =>
      warn(
        this,
        "A run ended without waiting for the answer to its question: no one was asked",
      ));
  }

  async #sealState(): Promise<string> {
    const { requestStates } = this.engine;
    const state: RequestState = {
      ...this.#rounds!.state,
      ...(this.#isSingleUse && { nonce: randomId(16) }),
      expiresAt: now(this.engine.clock) + REQUEST_STATE_SECONDS,
    };
    return await sealRequestState(
      await requestStates.key(),
      state,
      this.#binding,
    );
  }

  async #resume(): Promise<void> {
    const { requestState, inputResponses } = this.params;
    if (inputResponses !== undefined && !isObject(inputResponses)) {
      throw invalidParams(
        `inputResponses must be an object, not ${shown(inputResponses)}`,
      );
    }
    const state = requestState === undefined
      ? undefined
      : await this.#openState(requestState);
    // Without a `requestState`, nothing shows which question an answer belongs
    // to: the client may repeat the answer of an earlier call, which a
    // single-use tool must not accept.
    if (!state && this.#isSingleUse) return;
    this.#rounds = new InputRounds(state, inputResponses);
  }

  async #openState(text: unknown): Promise<RequestState> {
    const { requestStates } = this.engine;
    const state = await openRequestState(
      await requestStates.key(),
      text,
      this.#binding,
      now(this.engine.clock),
    );
    if (state.nonce && !await requestStates.spend(state.nonce, state)) {
      throw invalidParams(
        "requestState was used before, and may be used once. Send the request without it to begin again",
      );
    }
    return state;
  }

  get #binding(): StateBinding {
    const { method, params } = this.message;
    return { caller: this.caller.binding, method, params };
  }

  get #isSingleUse(): boolean {
    const { method, params: { name } } = this.message;
    return method === "tools/call" &&
      this.catalogue.tools.get(name as string)?.singleUse === true;
  }
}
