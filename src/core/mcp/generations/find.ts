/**
 * The call of a request, and its method: each generation has its own.
 *
 * @module
 */
import type { Result } from "../exchange/answer.ts";
import type { AdmittedRequest } from "../exchange/engine.ts";
import type { PendingResponse } from "../exchange/pending_response.ts";
import type { Call } from "../exchange/call.ts";
import type { Method } from "../exchange/run.ts";
import { complete } from "../methods/completion.ts";
import { getPrompt } from "../methods/prompt_get.ts";
import { readResource } from "../methods/resource_read.ts";
import {
  getSkill,
  listSkills,
  readDirectory,
} from "../../../features/skills/skills.ts";
import { listen } from "../methods/subscription.ts";
import { callTool } from "../methods/tool_call.ts";
import {
  checkHeader,
  checkParamHeaders,
  checkStandardHeaders,
} from "../../protocol/headers.ts";
import {
  argumentsOf,
  invalidParams,
  methodNotFound,
  type RpcRequest,
  shown,
} from "../../protocol/messages.ts";
import {
  isLoggingLevel,
  levels,
  Meta,
  metaOf,
  parseStatelessMeta,
} from "../../protocol/request_meta.ts";
import { hasTasks } from "../../../features/work/task_answer.ts";
import type {
  LastingCall,
  TaskEngine,
} from "../../../features/work/hand_over.ts";
import {
  cancelTask,
  getTask,
  updateTask,
} from "../../../features/work/task_methods.ts";
import type { SessionRequest } from "./session.ts";
import { SessionCall } from "./session_call.ts";
import { StatelessCall } from "./stateless_call.ts";

/**
 * Finds the call of a request of 2026, and its method.
 *
 * @throws {RpcError} for an incomplete `_meta`, headers that differ from the
 * body, and an unknown method
 */
export function findStateless(
  engine: TaskEngine,
  message: RpcRequest,
  admitted: AdmittedRequest,
): { call: StatelessCall; method: Method<LastingCall> } {
  const { request: { headers }, version, catalogue } = admitted;
  const { params } = message;
  const meta = metaOf(params);
  const claimed = meta[Meta.protocolVersion];
  if (typeof claimed === "string") {
    checkHeader("mcp-protocol-version", version, claimed);
  }
  const parsed = parseStatelessMeta(meta);
  checkStandardHeaders(headers, message);
  const method = STATELESS_METHODS.get(message.method);
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
 * @param response the response that all requests of a batch share
 * @throws {RpcError} for an unknown method
 */
export function findInSession(
  engine: TaskEngine,
  message: RpcRequest,
  found: SessionRequest,
  response?: PendingResponse,
): { call: SessionCall; method: Method<SessionCall> } {
  const method = SESSION_METHODS.get(message.method);
  if (!method) throw methodNotFound(message.method, false);
  return { call: new SessionCall(engine, message, found, response), method };
}

const EMPTY: Method = () => ({ result: "{}" });

function listOf(list: "resources" | "resourceTemplates" | "prompts"): Method {
  return ({ printedLists, params }) => ({
    result: printedLists[list].page(params.cursor),
  });
}

/** Lists the tools; the server's own only for a client without tasks. */
function listTools(call: Call): Result {
  const { printedLists: { tools, allTools }, params } = call;
  const list = hasTasks(call) ? tools : allTools;
  return { result: list.page(params.cursor) };
}

/** Methods that both generations have. */
const SHARED: readonly (readonly [string, Method<LastingCall>])[] = [
  ["tools/list", listTools],
  ["tools/call", callTool],
  ["resources/list", listOf("resources")],
  ["resources/templates/list", listOf("resourceTemplates")],
  ["resources/read", readResource],
  ["prompts/list", listOf("prompts")],
  ["prompts/get", getPrompt],
  ["completion/complete", complete],
  ["skills/list", listSkills],
  ["skills/get", getSkill],
  ["resources/directory/read", readDirectory],
];

/**
 * The methods of 2025 besides `initialize`. Subscribing succeeds but has no
 * effect: without a GET stream there is no way to push.
 */
export const SESSION_METHODS: ReadonlyMap<string, Method<SessionCall>> =
  new Map<string, Method<SessionCall>>([
    ...SHARED,
    ["ping", EMPTY],
    ["resources/subscribe", EMPTY],
    ["resources/unsubscribe", EMPTY],
    ["logging/setLevel", setLevel],
  ]);

export const STATELESS_METHODS: ReadonlyMap<string, Method<LastingCall>> =
  new Map([
    ...SHARED,
    ["server/discover", ({ catalogue }) => ({ result: catalogue.discovery })],
    ["tasks/get", getTask],
    ["tasks/update", updateTask],
    ["tasks/cancel", cancelTask],
    ["subscriptions/listen", listen],
  ]);

async function setLevel(
  { params: { level }, sessionId, engine }: SessionCall,
): Promise<Result> {
  if (!isLoggingLevel(level)) {
    throw invalidParams(`level must be ${levels()}, not ${shown(level)}`);
  }
  await engine.sessions.setLogLevel(sessionId, level);
  return { result: "{}" };
}
