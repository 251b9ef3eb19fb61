/**
 * Finds the call of a request, and its method, by the rules of its revision. A
 * request of MCP 2026-07-28 is a call without a session: a question ends it
 * with an `InputRequiredResult`; a client cancels it by closing the stream.
 *
 * @see MCP 2026-07-28, Multi Round-Trip Requests and Cancellation
 * @module
 */
import type { Answer, PendingResponse, Result } from "../exchange/answer.ts";
import type { AdmittedRequest } from "../exchange/engine.ts";
import type { Method } from "../exchange/run.ts";
import { complete } from "../methods/completion.ts";
import { getPrompt } from "../methods/prompt_get.ts";
import { readResource } from "../methods/resource_read.ts";
import { listen } from "../methods/subscription.ts";
import type { EngineCall, MethodEngine } from "../methods/method_engine.ts";
import { callTool } from "../methods/tool_call.ts";
import {
  checkHeader,
  checkParamHeaders,
  checkStandardHeaders,
  isLoggingLevel,
  levelWords,
  Meta,
  metaOf,
  parseStatelessMeta,
  type StatelessMeta,
} from "../../protocol/request_meta.ts";
import {
  argumentsOf,
  invalidParams,
  methodNotFound,
  quoted,
  type RpcRequest,
} from "../../protocol/messages.ts";
import { SessionCall, type SessionRequest } from "./session.ts";
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
import { isObject, type JsonObject } from "../../json.ts";
import type { AskedQuestion } from "../../protocol/question.ts";
import { STATELESS_REVISION } from "../../protocol/revisions.ts";
import { Call } from "../exchange/call.ts";
import { warn } from "../exchange/report.ts";
import { suspend } from "../exchange/suspension.ts";
import type { MaybePromise } from "../../../authoring/service.ts";

/** The methods that may end with questions, and so accept `inputResponses`. */
const ASKING: ReadonlySet<string> = new Set([
  "tools/call",
  "prompts/get",
  "resources/read",
]);

/**
 * The time after which the response becomes a stream, even if there is nothing
 * to send yet. A client can cancel only by disconnecting. If the request body
 * came in a later packet than the headers, Deno notices a disconnect only after
 * the response has begun. The price: a large result of a slow call is one
 * event, and some clients refuse events of more than 1 MiB (Python SDK 2.3).
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
    // Not written into the assignment, see `respond`.
    const leave = () => this.execution.cancel("the client closed the stream");
    response.onGone = leave;
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
        `inputResponses must be an object, not ${quoted(inputResponses)}`,
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

/**
 * Finds the call of an MCP 2026-07-28 request, and its method.
 * @throws {RpcError} for an incomplete `_meta`, headers that differ from the
 * body, and an unknown method
 */
export function findStateless(
  engine: McpEngine,
  message: RpcRequest,
  admitted: AdmittedRequest,
): { call: StatelessCall; method: Method<EngineCall> } {
  const { request: { headers }, version, catalogue } = admitted;
  const { params } = message;
  const meta = metaOf(params);
  const claimed = meta[Meta.protocolVersion];
  if (typeof claimed === "string") {
    checkHeader("mcp-protocol-version", version, claimed);
  }
  const parsed = parseStatelessMeta(meta);
  checkStandardHeaders(headers, message);
  const method = engine.methods.stateless.get(message.method);
  if (!method) throw methodNotFound(message.method, true);
  const call = new StatelessCall(engine, message, admitted, parsed);
  if (message.method === "tools/call") {
    const tool = catalogue.tools.get(params.name as string);
    if (tool && tool.paramHeaders.length > 0) {
      checkParamHeaders(headers, tool.paramHeaders, argumentsOf(params));
    }
  }
  return { call, method: call.resuming(method) };
}

/**
 * Finds the call of a request in its session, and its method.
 *
 * @param response the response that the requests of a batch share
 * @throws {RpcError} for an unknown method
 */
export function findInSession(
  engine: McpEngine,
  message: RpcRequest,
  found: SessionRequest,
  response?: PendingResponse,
): { call: SessionCall; method: Method<SessionCall> } {
  const method = engine.methods.session.get(message.method);
  if (!method) throw methodNotFound(message.method, false);
  return { call: new SessionCall(engine, message, found, response), method };
}

const EMPTY: Method = () => ({ result: "{}" });

function listOf(list: "resources" | "resourceTemplates" | "prompts"): Method {
  return ({ printedLists, params }) => ({
    result: printedLists[list].page(params.cursor),
  });
}

/** Lists the tools, with the server's own tools if the client needs them. */
function listTools(call: EngineCall): Result {
  const { printedLists: { tools, allTools }, params, engine } = call;
  const list = engine.longCalls?.needsTools(call) ? allTools : tools;
  return { result: list.page(params.cursor) };
}

/** Methods that all revisions have. */
const SHARED: readonly (readonly [string, Method<EngineCall>])[] = [
  ["tools/list", listTools],
  ["tools/call", callTool],
  ["resources/list", listOf("resources")],
  ["resources/templates/list", listOf("resourceTemplates")],
  ["resources/read", readResource],
  ["prompts/list", listOf("prompts")],
  ["prompts/get", getPrompt],
  ["completion/complete", complete],
];

export interface FeatureMethods {
  /** Methods of all revisions. */
  shared?: readonly (readonly [string, Method<EngineCall>])[];
  /** Methods of MCP 2026-07-28 only. */
  stateless?: readonly (readonly [string, Method<EngineCall>])[];
  tools?: readonly (readonly [string, Method<EngineCall>])[];
}

/** The methods of MCP 2025 and of 2026-07-28, keyed by name. */
export interface MethodTables {
  /** Methods of MCP 2025, without `initialize`. */
  session: ReadonlyMap<string, Method<SessionCall>>;
  stateless: ReadonlyMap<string, Method<EngineCall>>;
}

/** The engine of calls, with the tables of methods. */
export interface McpEngine extends MethodEngine {
  methods: MethodTables;
}

/**
 * Makes the tables of methods. Subscribing in a session succeeds but has no
 * effect: without a GET stream the server cannot send notifications.
 */
export function methodTables(added: readonly FeatureMethods[]): MethodTables {
  const shared = [...SHARED, ...added.flatMap(({ shared = [] }) => shared)];
  return {
    session: new Map<string, Method<SessionCall>>([
      ...shared,
      ["ping", EMPTY],
      ["resources/subscribe", EMPTY],
      ["resources/unsubscribe", EMPTY],
      ["logging/setLevel", setLevel],
    ]),
    stateless: new Map<string, Method<EngineCall>>([
      ...shared,
      ["server/discover", ({ catalogue }) => ({ result: catalogue.discovery })],
      ["subscriptions/listen", listen],
      ...added.flatMap(({ stateless = [] }) => stateless),
    ]),
  };
}

async function setLevel(
  { params: { level }, sessionId, engine }: SessionCall,
): Promise<Result> {
  if (!isLoggingLevel(level)) {
    throw invalidParams(`level must be ${levelWords()}, not ${quoted(level)}`);
  }
  await engine.sessions.setLogLevel(sessionId, level);
  return { result: "{}" };
}
