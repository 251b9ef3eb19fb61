/**
 * `tools/call`: checks the arguments, runs the tool in the request or in a
 * task, and checks the result.
 * @module
 * @see MCP 2026-07-28, Tools, Calling Tools
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { Answer, Result } from "../exchange/answer.ts";
import { follow } from "../exchange/author_code.ts";
import type { Call } from "../exchange/call.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import { CallContext } from "../exchange/call_context.ts";
import { type ParsedInput, parseInput } from "../../catalogue/parse_input.ts";
import { argumentsOf, invalidParams, shown } from "../../protocol/messages.ts";
import type { JsonObject } from "../../json.ts";
import { errorResult, inputErrorText } from "../../protocol/tool_result.ts";
import type { EngineCall, PreparedCall } from "./method_engine.ts";
import { findNeeds, runAround } from "./tool_run.ts";
import type { ToolRun } from "../exchange/engine.ts";

/** A call of a tool, with its parsed input. */
class ToolCall implements PreparedCall {
  /**
   * Frees the call's place among its tool's concurrent calls. Undefined if
   * these are not limited.
   */
  leave?: () => void;
  prepared?: unknown;
  found?: ToolRun["found"];
  isInTask = false;

  constructor(
    readonly tool: CompiledTool,
    public input: JsonObject,
    readonly call: EngineCall,
  ) {}

  /** Runs the tool in its request; a long run continues as a task. */
  run(): MaybePromise<Result> {
    const { tool, call } = this;
    const running = runAround(this, call.context);
    if (running instanceof Promise) {
      call.engine.longCalls?.watch(call, tool, running);
    }
    return follow(running, (result) => print(call, result));
  }
}

/**
 * Calls the tool that a request names. @throws {RpcError} -32602 for an unknown
 * tool
 */
export function callTool(call: EngineCall): MaybePromise<Answer> {
  const { catalogue, params, engine: { ownTools, longCalls } } = call;
  const { name } = params;
  const tool = catalogue.tools.get(name as string);
  if (tool === undefined) {
    const own = catalogue.taskTools.has(name as string) &&
      ownTools.get(name as string);
    if (own) return own(call);
    throw invalidParams(`Unknown tool: ${shown(name)}`);
  }
  return follow(
    longCalls?.repeat(call, tool),
    (answer) => answer ?? begin(call, tool),
  );
}

/** Checks the arguments of a call, and starts it. */
function begin(call: EngineCall, tool: CompiledTool): MaybePromise<Answer> {
  const { params } = call;
  const input = argumentsOf(params);
  if (!tool.input) return start(new ToolCall(tool, input, call));
  const next = (parsed: ParsedInput): MaybePromise<Answer> =>
    parsed.success
      ? start(new ToolCall(tool, parsed.data as JsonObject, call))
      : print(call, errorResult(inputErrorText(parsed.error, parsed.hasMore)));
  return follow(parseInput(tool.input, input), next);
}

export function print(
  { printedLists: { printer } }: Call,
  result: CallToolResult,
): Result {
  return { result: printer.result(result), isToolError: result.isError };
}

/**
 * Starts a call, with only the steps that its tool needs. Most tools just run.
 */
function start(toolCall: ToolCall): MaybePromise<Answer> {
  const { tool, found, call: { context } } = toolCall;
  if (tool.needs && !found) {
    const finding = findNeeds(toolCall, context, "ask");
    return CallContext.follow(context, finding, () => start(toolCall));
  }
  if (tool.limit) return startLimited(toolCall);
  if (tool.task || tool.prepare) return prepare(toolCall);
  return toolCall.run();
}

/**
 * Runs a tool within its limit on concurrent calls. A call that becomes a task
 * counts until the task ends.
 */
async function startLimited(toolCall: ToolCall): Promise<Answer> {
  const { tool, call } = toolCall;
  const leave = await call.engine.limits.enter(tool, call.limitKey);
  toolCall.leave = leave;
  try {
    return await prepare(toolCall);
  } finally {
    if (!toolCall.isInTask) leave();
  }
}

/**
 * Calls the tool's `prepare` in the request, because it may ask the client.
 * Then runs the tool, in the request or in a task.
 */
async function prepare(toolCall: ToolCall): Promise<Answer> {
  const { tool, input, call, call: { context } } = toolCall;
  const inTask = call.engine.longCalls?.taskOf(call, tool);
  toolCall.prepared = await CallContext.follow(
    context,
    tool.prepare?.(input, context),
    (prepared) => prepared,
  );
  return await (inTask ? inTask(toolCall) : toolCall.run());
}
