/**
 * `tools/call`: the arguments are checked, the tool runs here or in a task, and
 * its result is checked too.
 *
 * @module
 * @see MCP 2026-07-28, Tools, Calling Tools
 */
import { askable, messageOf, wholeMessageOf } from "../../log/thrown.ts";
import type { CallToolResult } from "@modelcontextprotocol/server";
import { ChallengeError, HttpError, RpcError } from "../../errors.ts";
import type { Context } from "../../authoring/context.ts";
import { ResultWith } from "../../authoring/result.ts";
import { ToolError } from "../../authoring/tool.ts";
import { telemetry } from "../../telemetry/current.ts";
import { argumentsOf } from "../wire/arguments.ts";
import type { Call } from "../exchange/call.ts";
import { CallContext } from "../exchange/call_context.ts";
import { type MaybePromise, then } from "../exchange/then.ts";
import type { CompiledTool } from "../catalogue/compiled_definitions.ts";
import { Suspended } from "../wire/inquiry.ts";
import { parseBy } from "../wire/json_schema.ts";
import { type ParsedInput, parseInput } from "../catalogue/parse_input.ts";
import { invalidParams, quoted } from "../wire/messages.ts";
import type { JsonObject } from "../../json.ts";
import type { Place } from "../exchange/limits.ts";
import {
  checkKnowsTasks,
  knowsTasks,
  printTask,
} from "../work/task_methods.ts";
import {
  errorResult,
  inputErrorText,
  resultOf,
  structuredResult,
} from "../wire/tool_result.ts";

/**
 * Calls the tool that a request names. @throws {RpcError} -32602 for an unknown
 * tool
 */
export function callTool(call: Call): MaybePromise<string> {
  const { introduction: { printer }, catalogue, params } = call;
  const { name } = params;
  const tool = catalogue.tools.get(name as string);
  if (tool === undefined) throw invalidParams(`Unknown tool: ${quoted(name)}`);
  const args = argumentsOf(params);
  const print = (result: object) => {
    if ("isError" in result && result.isError) call.outcome = "tool_error";
    return printer.result(result);
  };
  const fail = (thrown: unknown) => {
    const error = askable(thrown);
    if (isRefusal(error)) throw error;
    return printer.result(errorResult(messageFor(error, call)));
  };
  try {
    const printed = then(parseAndRun(tool, args, call), print);
    return printed instanceof Promise ? printed.catch(fail) : printed;
  } catch (error) {
    return fail(error);
  }
}

/** Gives the part of an exception that the model may read. */
function messageFor(error: unknown, call: Call): string {
  call.outcome = "tool_error";
  if (error instanceof ToolError) return wholeMessageOf(error);
  const { signal, requestId } = call;
  if (signal.aborted) return signal.reason.message;
  call.outcome = "internal_error";
  call.report(error);
  return `Internal error (reference ${requestId})`;
}

function parseAndRun(
  tool: CompiledTool,
  args: JsonObject,
  call: Call,
): MaybePromise<object> {
  const run = tool.limit ? runLimited : runTool;
  if (!tool.input) return run(tool, args, call);
  return then(
    parseInput(tool.input, args),
    (parsed: ParsedInput) =>
      parsed.success
        ? run(tool, parsed.data as JsonObject, call)
        : errorResult(inputErrorText(parsed.error, parsed.hasMore)),
  );
}

/** Runs a tool within its own limit. */
async function runLimited(
  tool: CompiledTool,
  input: JsonObject,
  call: Call,
): Promise<object> {
  const place = await call.engine.limits.enter(tool, call.countedAs);
  try {
    return await runTool(tool, input, call, place);
  } finally {
    if (!place.isKept) place.leave();
  }
}

function runTool(
  tool: CompiledTool,
  input: JsonObject,
  call: Call,
  place?: Place,
): MaybePromise<object> {
  return tool.task || tool.prepare
    ? prepareAndRun(tool, input, call, place)
    : runAround(tool, input, call.context, call);
}

/**
 * Prepares the call in its request, where questions can be asked, then runs the
 * tool there or in a task.
 */
async function prepareAndRun(
  tool: CompiledTool,
  input: JsonObject,
  call: Call,
  place?: Place,
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
  const prepared = await CallContext.follow(
    context,
    tool.prepare?.(input, context),
    (prepared) => prepared,
  );
  if (!tool.task || !stateless || !knowsTasks(client)) {
    return await runAround(tool, input, context, call, prepared);
  }
  const task = await engine.taskRunner.start(
    call,
    tool.scopes ?? [],
    async (context) => {
      const run = async () =>
        await runAround(tool, input, context, call, prepared);
      try {
        return await (telemetry ? telemetry.task(tool.name, run) : run());
      } finally {
        place?.leave();
      }
    },
  );
  call.taskId = task.taskId;
  // The work goes on after the call.
  if (place) place.isKept = true;
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
    CallContext.follow(
      context,
      tool.run(input, context, prepared),
      (answer) => judge(tool, answer, call),
    );
  const { around } = call.engine;
  if (!around) return run();
  const { author } = tool;
  tool.provide?.(context);
  const authored = CallContext.runOf(context);
  const result = around({ tool: author, input, context }, async () => {
    // A hook may try again what failed, but not what had to end.
    if (authored?.reason !== undefined) throw authored.reason;
    return await run();
  });
  return authored ? authored.wait(result) : result;
}

/** Checks a tool's return value against its output schema. */
function judge(
  { name, output, hasObjectOutput }: CompiledTool,
  answer: unknown,
  { stateless }: Call,
): MaybePromise<CallToolResult> {
  if (output === undefined) {
    try {
      return resultOf(answer);
    } catch (error) {
      throw new TypeError(`tool ${name} ${messageOf(error)}`);
    }
  }
  const { data, extra } = answer instanceof ResultWith
    ? answer
    : { data: answer, extra: undefined };
  return then(parseBy(output, data), (parsed) => {
    if (parsed.success) {
      const asStructured = stateless || hasObjectOutput;
      return structuredResult(parsed.data, asStructured, extra);
    }
    throw new Error(`tool ${name} broke its output schema`, {
      cause: parsed.error,
    });
  });
}

/** True if an exception refuses the request itself, wherever it was thrown. */
function isRefusal(error: unknown): boolean {
  return error instanceof RpcError || error instanceof ChallengeError ||
    error instanceof HttpError || error instanceof Suspended;
}
