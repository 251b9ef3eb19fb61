/**
 * Finds the call of a request, and its method, by the rules of its revision.
 * @module
 */
import type { PendingResponse, Result } from "../exchange/answer.ts";
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
  levels,
  Meta,
  metaOf,
  parseStatelessMeta,
} from "../../protocol/request_meta.ts";
import {
  argumentsOf,
  invalidParams,
  methodNotFound,
  type RpcRequest,
  shown,
} from "../../protocol/messages.ts";
import { SessionCall, type SessionRequest } from "./session.ts";
import { StatelessCall } from "./stateless_call.ts";

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
    throw invalidParams(`level must be ${levels()}, not ${shown(level)}`);
  }
  await engine.sessions.setLogLevel(sessionId, level);
  return { result: "{}" };
}
