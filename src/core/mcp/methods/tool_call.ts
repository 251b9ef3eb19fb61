/**
 * `tools/call`: checks the arguments, runs the tool inside the author's
 * `around` hook, in the request or in a task, and checks the result.
 *
 * @see MCP 2026-07-28, Tools, Calling Tools
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { MaybePromise } from "../../../authoring/service.ts";
import type { Answer, Result } from "../exchange/answer.ts";
import { andThen } from "../exchange/author_code.ts";
import type { Call } from "../exchange/call.ts";
import {
  type CompiledTool,
  type ParsedInput,
  parseInput,
} from "../../catalogue/compiled_tool.ts";
import { CallContext } from "../exchange/call_context.ts";
import { argumentsOf, invalidParams, quoted } from "../../protocol/messages.ts";
import type { JsonObject } from "../../json.ts";
import {
  errorResult,
  inputErrorText,
  issueText,
  resultOf,
  structuredResult,
} from "../../protocol/results.ts";
import type { EngineCall, PreparedCall } from "./method_engine.ts";
import type { ToolRun } from "../exchange/engine.ts";
import type { Around } from "../../../authoring/around.ts";
import type { Context } from "../../../authoring/context.ts";
import { ResultWith } from "../../../authoring/result.ts";
import { messageOf } from "../../thrown.ts";
import type { ItemWithNeeds, NeedsMode } from "../exchange/needs.ts";
import { parseBy } from "../../protocol/json_schema.ts";

/** Finds a tool's needs, such as accounts, and adds them to a context. */
export function findNeeds(
  toolCall: ToolRun,
  context: Context,
  finding: NeedsMode,
): MaybePromise<void> {
  const { tool, input, call: { engine } } = toolCall;
  const item = tool as CompiledTool & ItemWithNeeds;
  return andThen(
    engine.findNeeds(context, item, input, finding),
    (found) => {
      toolCall.found = found;
      toolCall.account = found.account;
      toolCall.input = found.own(input);
      found.bind(context);
    },
  );
}

/**
 * Runs a tool's function inside the author's `around` hook, after the person's
 * approval if the tool needs it.
 */
export function runAround(
  toolCall: ToolRun,
  context: Context,
): MaybePromise<CallToolResult> {
  toolCall.found?.bind(context);
  const { tool, hasApproval, call: { engine } } = toolCall;
  const begin = () =>
    engine.around
      ? runInHook(engine.around, toolCall, context)
      : run(toolCall, context);
  const isGated = tool.approval || hasApproval;
  return isGated ? engine.approve!(toolCall, context, begin) : begin();
}

async function runInHook(
  around: Around,
  toolCall: ToolRun,
  context: Context,
): Promise<CallToolResult> {
  const { tool, input } = toolCall;
  tool.provide?.(context);
  const authorCode = CallContext.codeOf(context);
  const result = around({ tool: tool.author, input, context }, async () => {
    // The hook may run the tool again after a failure, but not after an
    // interruption.
    if (authorCode?.reason !== undefined) throw authorCode.reason;
    try {
      return await run(toolCall, context);
    } catch (error) {
      // The hook may log the error, so it must have no key.
      throw authorCode?.clean(error) ?? error;
    }
  });
  return await (authorCode ? authorCode.wait(result) : result);
}

function run(
  { tool, input, prepared, found, call }: ToolRun,
  context: Context,
): MaybePromise<CallToolResult> {
  return CallContext.andThen(
    context,
    tool.run(input, context, prepared),
    (output) => {
      const result = toolResult(tool, output, call);
      return found?.sign ? andThen(result, found.sign) : result;
    },
  );
}

function toolResult(
  { name, output: schema, hasObjectOutput }: CompiledTool,
  output: unknown,
  { stateless }: ToolRun["call"],
): MaybePromise<CallToolResult> {
  if (schema === undefined) {
    try {
      return resultOf(output);
    } catch (error) {
      throw new TypeError(`tool ${name} ${messageOf(error)}`);
    }
  }
  const { data, extra } = output instanceof ResultWith
    ? output
    : { data: output, extra: undefined };
  return andThen(parseBy(schema, data), (parsed) => {
    if (parsed.success) {
      const asStructured = stateless || hasObjectOutput;
      return structuredResult(parsed.data, asStructured, extra);
    }
    const faults = issueText(parsed.error, "output");
    throw new Error(`tool ${name} broke its output schema:\n${faults}`);
  });
}

/** A call of a tool, with its parsed input. */
class ToolCall implements PreparedCall {
  place?: ToolRun["place"];
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
    return andThen(running, (result) => printedResult(call, result));
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
    throw invalidParams(`Unknown tool: ${quoted(name)}`);
  }
  return andThen(
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
      : printedResult(
        call,
        errorResult(inputErrorText(parsed.error, parsed.hasMore)),
      );
  return andThen(parseInput(tool.input, input), next);
}

export function printedResult(
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
    return CallContext.andThen(context, finding, () => start(toolCall));
  }
  if (tool.limit) return startLimited(toolCall);
  if (tool.task || tool.prepare) return prepare(toolCall);
  return toolCall.run();
}

/**
 * Runs a tool within its limit on concurrent calls. A call that becomes a task
 * counts until the task ends. If the tool has `approval`, only its run counts.
 */
async function startLimited(toolCall: ToolCall): Promise<Answer> {
  const { tool, call } = toolCall;
  const place = await call.engine.limits.enter(tool, call.limitKey);
  toolCall.place = place;
  try {
    return await prepare(toolCall);
  } finally {
    if (!toolCall.isInTask) place.leave();
  }
}

/**
 * Calls the tool's `prepare` in the request, because it may ask the client.
 * Then runs the tool, in the request or in a task.
 */
async function prepare(toolCall: ToolCall): Promise<Answer> {
  const { tool, input, call, call: { context } } = toolCall;
  const inTask = call.engine.longCalls?.taskOf(call, tool);
  toolCall.prepared = await CallContext.andThen(
    context,
    tool.prepare?.(input, context),
    (prepared) => prepared,
  );
  return await (inTask ? inTask(toolCall) : toolCall.run());
}
