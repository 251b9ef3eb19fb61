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
import { type ToolAnswer, ToolError } from "../../authoring/tool.ts";
import {
  argumentsOf,
  type Call,
  type MaybePromise,
  type Printed,
  then,
} from "../call.ts";
import type { CompiledTool } from "../../protocol/catalogue.ts";
import { Suspended } from "../../protocol/inquiry.ts";
import { parseBy, type Parsed } from "../../protocol/json_schema.ts";
import { invalidParams, quoted } from "../../protocol/messages.ts";
import type { JsonObject } from "../../json.ts";
import { checkKnowsTasks, printTask } from "../tasks/task_methods.ts";
import {
  errorResult,
  inputErrorText,
  resultOf,
  structuredResult,
} from "../../protocol/tool_result.ts";

/** Calls the tool that a request names. @throws {RpcError} -32602 for no tool */
export function callTool(call: Call): MaybePromise<Printed> {
  const { introduction: { printer }, catalogue, params } = call;
  const { name } = params;
  const tool = typeof name === "string" ? catalogue.tools.get(name) : undefined;
  if (tool === undefined) throw invalidParams(`Unknown tool: ${quoted(name)}`);
  return then(
    runTool(tool, argumentsOf(params), call),
    (result) => printer.result(result),
  );
}

/** Runs a tool, here or in a task; only refusals of the request throw. */
function runTool(
  tool: CompiledTool,
  args: JsonObject,
  call: Call,
): MaybePromise<object> {
  const fail = (error: unknown) => {
    if (error instanceof ToolError) return errorResult(error.message);
    if (isRefusal(error)) throw error;
    const { signal } = call.context;
    if (signal.aborted) return errorResult(signal.reason.message);
    call.report(error);
    return errorResult(`Internal error (reference ${call.context.requestId})`);
  };
  const run = (parsed: Parsed): MaybePromise<object> => {
    if (!parsed.success) return errorResult(inputErrorText(parsed.error));
    const input = parsed.data as JsonObject;
    if (tool.task || tool.prepare) return prepareAndRun(tool, input, call);
    return runAround(tool, input, call.context, call);
  };
  try {
    const result = tool.input
      ? then(parseBy(tool.input, args), run)
      : run({ success: true, data: args });
    return result instanceof Promise ? result.catch(fail) : result;
  } catch (error) {
    return fail(error);
  }
}

/** What must be asked first is asked in the request; a task knows it then. */
async function prepareAndRun(
  tool: CompiledTool,
  input: JsonObject,
  call: Call,
): Promise<object> {
  if (tool.task === "required") {
    if (!call.stateless) {
      throw invalidParams(
        `${tool.name} runs as a task, which this client does not support`,
      );
    }
    checkKnowsTasks(call.context.client);
  }
  const prepared = await tool.prepare?.(input, call.context);
  const work = async (context: Context) => {
    const result = await runAround(tool, input, context, call, prepared);
    return result as unknown as JsonObject;
  };
  if (!tool.task || !call.startTask) return await work(call.context);
  const task = await call.startTask(work);
  return { resultType: "task", ...printTask(task) };
}

/** Runs a tool's function, within the author's hook if there is one. */
function runAround(
  tool: CompiledTool,
  input: JsonObject,
  context: Context,
  call: Call,
  prepared?: unknown,
): MaybePromise<CallToolResult> {
  const run = () =>
    then(
      tool.run(input, context, prepared),
      (answer) => judge(tool, answer, call),
    );
  if (call.around === undefined) return run();
  // deno-lint-ignore require-await -- what it throws must be a rejection
  return call.around({ tool, input, context }, async () => run());
}

/** Checks what a tool returned against its output schema. */
function judge(
  { name, output, hasObjectOutput }: CompiledTool,
  answer: unknown,
  { stateless }: Call,
): MaybePromise<CallToolResult> {
  if (output === undefined) return resultOf(answer as ToolAnswer);
  return then(parseBy(output, answer), (parsed) => {
    if (parsed.success) {
      return structuredResult(parsed.data, stateless || hasObjectOutput);
    }
    throw new Error(`tool ${name} broke its output schema`, {
      cause: parsed.error,
    });
  });
}

/** Whether an exception refuses the request itself, whoever threw it. */
function isRefusal(error: unknown): boolean {
  return error instanceof RpcError || error instanceof ChallengeError ||
    error instanceof HttpError || error instanceof Suspended;
}
