/**
 * `tools/call`: arguments are checked, the tool runs here or in a task, and
 * what it gives back is checked too.
 *
 * @module
 * @see MCP 2026-07-28, Tools, Calling Tools
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { ChallengeError, HttpError, RpcError } from "../../errors.ts";
import type { Context } from "../../authoring/context.ts";
import { ResultWith } from "../../authoring/result.ts";
import { ToolError } from "../../authoring/tool.ts";
import { argumentsOf } from "../../protocol/arguments.ts";
import type { Call } from "../call.ts";
import type { CompiledTool } from "../../protocol/catalogue.ts";
import { Suspended } from "../../protocol/inquiry.ts";
import { parseBy } from "../../protocol/json_schema.ts";
import { invalidParams, quoted } from "../../protocol/messages.ts";
import type { JsonObject } from "../../json.ts";
import {
  checkKnowsTasks,
  knowsTasks,
  printTask,
} from "../tasks/task_methods.ts";
import {
  errorResult,
  inputErrorText,
  resultOf,
  structuredResult,
} from "../../protocol/tool_result.ts";

/** Calls the tool that a request names. @throws {RpcError} -32602 for no tool */
export async function callTool(call: Call): Promise<string> {
  const { introduction: { printer }, catalogue, params } = call;
  const { name } = params;
  const tool = typeof name === "string" ? catalogue.tools.get(name) : undefined;
  if (tool === undefined) throw invalidParams(`Unknown tool: ${quoted(name)}`);
  const args = argumentsOf(params);
  try {
    const result = await parseAndRun(tool, args, call);
    if ("isError" in result && result.isError) call.outcome = "tool_error";
    return printer.result(result);
  } catch (error) {
    if (isRefusal(error)) throw error;
    return printer.result(errorResult(messageFor(error, call)));
  }
}

/** What the model may read of an exception. */
function messageFor(error: unknown, call: Call): string {
  call.outcome = "tool_error";
  if (error instanceof ToolError) return error.message;
  const { signal, requestId } = call;
  if (signal.aborted) return signal.reason.message;
  call.outcome = "internal_error";
  call.report(error);
  return `Internal error (reference ${requestId})`;
}

async function parseAndRun(
  tool: CompiledTool,
  args: JsonObject,
  call: Call,
): Promise<object> {
  let input = args;
  if (tool.input) {
    const parsed = await parseBy(tool.input, args);
    if (!parsed.success) return errorResult(inputErrorText(parsed.error));
    input = parsed.data as JsonObject;
  }
  return tool.task || tool.prepare
    ? await prepareAndRun(tool, input, call)
    : await runAround(tool, input, call.context, call);
}

/** What must be asked first is asked in the request; a task knows it then. */
async function prepareAndRun(
  tool: CompiledTool,
  input: JsonObject,
  call: Call,
): Promise<object> {
  const { client, stateless, context, engine } = call;
  if (tool.task === "required") {
    if (!stateless) {
      throw invalidParams(
        `${tool.name} runs as a task, which this client does not support`,
      );
    }
    checkKnowsTasks(client);
  }
  const prepared = await tool.prepare?.(input, context);
  if (!tool.task || !stateless || !knowsTasks(client)) {
    return await runAround(tool, input, context, call, prepared);
  }
  const task = await engine.taskRunner.start(
    call,
    tool.scopes ?? [],
    (context) => runAround(tool, input, context, call, prepared),
  );
  return { resultType: "task", ...printTask(task) };
}

/** Runs a tool's function, within the author's hook if there is one. */
async function runAround(
  tool: CompiledTool,
  input: JsonObject,
  context: Context,
  call: Call,
  prepared?: unknown,
): Promise<CallToolResult> {
  const run = async () =>
    judge(tool, await tool.run(input, context, prepared), call);
  const { around } = call.engine;
  return around ? await around({ tool, input, context }, run) : await run();
}

/** Checks what a tool returned against its output schema. */
async function judge(
  { name, output, hasObjectOutput }: CompiledTool,
  answer: unknown,
  { stateless }: Call,
): Promise<CallToolResult> {
  if (output === undefined) {
    try {
      return resultOf(answer);
    } catch (error) {
      throw new TypeError(`tool ${name} ${(error as Error).message}`);
    }
  }
  const { data, beside } = answer instanceof ResultWith
    ? answer
    : { data: answer, beside: undefined };
  const parsed = await parseBy(output, data);
  if (parsed.success) {
    const asStructured = stateless || hasObjectOutput;
    return structuredResult(parsed.data, asStructured, beside);
  }
  throw new Error(`tool ${name} broke its output schema`, {
    cause: parsed.error,
  });
}

/** Whether an exception refuses the request itself, wherever it was thrown. */
function isRefusal(error: unknown): boolean {
  return error instanceof RpcError || error instanceof ChallengeError ||
    error instanceof HttpError || error instanceof Suspended;
}
