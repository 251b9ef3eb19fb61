/**
 * `tools/call`: the arguments are checked, the tool runs here or in a task, and
 * its result is checked too.
 *
 * @module
 * @see MCP 2026-07-28, Tools, Calling Tools
 */
import { messageOf } from "../../log/thrown.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { Around } from "../../authoring/around.ts";
import type { Context } from "../../authoring/context.ts";
import { ResultWith } from "../../authoring/result.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { telemetry } from "../../telemetry/current.ts";
import { argumentsOf } from "../wire/arguments.ts";
import type { Answer, Result } from "../exchange/answer.ts";
import { follow } from "../exchange/authored_run.ts";
import type { Call } from "../exchange/call.ts";
import { CallContext } from "../exchange/call_context.ts";
import type { CompiledTool } from "../catalogue/compiled_definitions.ts";
import { parseBy } from "../wire/json_schema.ts";
import { type ParsedInput, parseInput } from "../catalogue/parse_input.ts";
import { invalidParams, quoted } from "../wire/messages.ts";
import type { JsonObject } from "../../json.ts";
import type { Task } from "../../store/tasks.ts";
import { checkKnowsTasks, knowsTasks } from "../work/task_methods.ts";
import {
  errorResult,
  inputErrorText,
  resultOf,
  structuredResult,
} from "../wire/tool_result.ts";

/** A call of a tool, with its parsed input. */
interface ToolCall {
  tool: CompiledTool;
  input: JsonObject;
  call: Call;
  /** Gives back its place among the running calls of a limited tool. */
  leave?: () => void;
  prepared?: unknown;
}

/**
 * Calls the tool that a request names. @throws {RpcError} -32602 for an unknown
 * tool
 */
export function callTool(call: Call): MaybePromise<Answer> {
  const { catalogue, params } = call;
  const { name } = params;
  const tool = catalogue.tools.get(name as string);
  if (tool === undefined) throw invalidParams(`Unknown tool: ${quoted(name)}`);
  const input = argumentsOf(params);
  if (!tool.input) return start({ tool, input, call });
  const next = (parsed: ParsedInput): MaybePromise<Answer> =>
    parsed.success
      ? start({ tool, input: parsed.data as JsonObject, call })
      : print(call, errorResult(inputErrorText(parsed.error, parsed.hasMore)));
  return follow(parseInput(tool.input, input), next);
}

/** Prints what a tool gave. */
function print(
  { introduction: { printer } }: Call,
  result: CallToolResult,
): Result {
  return { result: printer.result(result), isToolError: result.isError };
}

/** Starts a call: most of them run at once. */
function start(toolCall: ToolCall): MaybePromise<Answer> {
  const { tool, call } = toolCall;
  if (tool.limit) return startLimited(toolCall);
  if (tool.task || tool.prepare) return prepare(toolCall);
  const running = runAround(toolCall, call.context);
  return follow(running, (result) => print(call, result));
}

/** Runs a tool within its own limit. A task keeps the place of its call. */
async function startLimited(toolCall: ToolCall): Promise<Answer> {
  const { tool, call } = toolCall;
  const leave = await call.engine.limits.enter(tool, call.countedAs);
  let isTask = false;
  try {
    const answer = await prepare({ ...toolCall, leave });
    isTask = "task" in answer;
    return answer;
  } finally {
    if (!isTask) leave();
  }
}

/**
 * Prepares the call in its request, where questions can be asked, then runs the
 * tool there or in a task.
 */
async function prepare(toolCall: ToolCall): Promise<Answer> {
  const { tool, input, call } = toolCall;
  const { client, stateless, context } = call;
  if (tool.task === "required") {
    if (!stateless) {
      throw invalidParams(
        `${tool.name} runs as a task, which this client does not support`,
      );
    }
    checkKnowsTasks(client);
  }
  const prepared = await CallContext.follow(
    context,
    tool.prepare?.(input, context),
    (prepared) => prepared,
  );
  const ready = { ...toolCall, prepared };
  return tool.task && stateless && knowsTasks(client)
    ? { task: await startTask(ready) }
    : print(call, await runAround(ready, context));
}

/** Begins a task, which gives back the place of its call. */
function startTask(toolCall: ToolCall): Promise<Task> {
  const { tool, call, leave } = toolCall;
  const { taskRunner } = call.engine;
  return taskRunner.start(call, tool.scopes ?? [], async (context) => {
    const run = async () => await runAround(toolCall, context);
    try {
      return await (telemetry ? telemetry.task(tool.name, run) : run());
    } finally {
      leave?.();
    }
  });
}

/** Runs a tool's function, within the author's hook if there is one. */
function runAround(
  toolCall: ToolCall,
  context: Context,
): MaybePromise<CallToolResult> {
  const { around } = toolCall.call.engine;
  return around ? runInHook(around, toolCall, context) : run(toolCall, context);
}

async function runInHook(
  around: Around,
  toolCall: ToolCall,
  context: Context,
): Promise<CallToolResult> {
  const { tool, input } = toolCall;
  tool.provide?.(context);
  const authored = CallContext.runOf(context);
  const result = around({ tool: tool.author, input, context }, async () => {
    // A hook may try again what failed, but not what had to end.
    if (authored?.reason !== undefined) throw authored.reason;
    return await run(toolCall, context);
  });
  return await (authored ? authored.wait(result) : result);
}

function run(
  { tool, input, prepared, call }: ToolCall,
  context: Context,
): MaybePromise<CallToolResult> {
  return CallContext.follow(
    context,
    tool.run(input, context, prepared),
    (output) => toolResult(tool, output, call),
  );
}

/** Makes the result of what a tool gave, by its output schema. */
function toolResult(
  { name, output: schema, hasObjectOutput }: CompiledTool,
  output: unknown,
  { stateless }: Call,
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
  return follow(parseBy(schema, data), (parsed) => {
    if (parsed.success) {
      const asStructured = stateless || hasObjectOutput;
      return structuredResult(parsed.data, asStructured, extra);
    }
    throw new Error(`tool ${name} broke its output schema`, {
      cause: parsed.error,
    });
  });
}
