/**
 * `tools/call`: the arguments are checked, the tool runs here or in a task, and
 * its result is checked too.
 *
 * @module
 * @see MCP 2026-07-28, Tools, Calling Tools
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { durableOf, type DurableTask } from "../../authoring/durable.ts";
import { RpcError } from "../../errors.ts";
import { isTerminal } from "../../store/task_record.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import { telemetry } from "../../telemetry/current.ts";
import { argumentsOf } from "../wire/arguments.ts";
import type { Answer, Result } from "../exchange/answer.ts";
import { follow } from "../exchange/authored_run.ts";
import type { Call } from "../exchange/call.ts";
import { CallContext } from "../exchange/call_context.ts";
import { type ParsedInput, parseInput } from "../catalogue/parse_input.ts";
import { invalidParams, quoted } from "../wire/messages.ts";
import type { JsonObject } from "../../json.ts";
import { DIED, type Task } from "../../store/tasks.ts";
import { checkKnowsTasks, knowsTasks } from "../work/task_methods.ts";
import { errorResult, inputErrorText } from "../wire/tool_result.ts";
import { durableWorkOf } from "./durable_call.ts";
import { runAround, type ToolRun } from "./tool_run.ts";

/** A call of a tool, with its parsed input. */
interface ToolCall extends ToolRun {
  call: Call;
  /** Gives back its place among the running calls of a limited tool. */
  leave?: () => void;
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
  const durable = durableOf(tool);
  if (durable) return await startDurable(ready, durable);
  return tool.task && stateless && knowsTasks(client)
    ? { task: await startTask(ready) }
    : print(call, await runAround(ready, context));
}

/**
 * Begins durable work. A client that knows no tasks waits for its end, and
 * cancels it by leaving.
 */
async function startDurable(
  { tool, prepared, call, leave }: ToolCall,
  durable: DurableTask,
): Promise<Answer> {
  const { client, stateless, meta, params, signal, engine } = call;
  const { durable: runner, tasks } = engine;
  const input = argumentsOf(params);
  const beginning = { input, prepared, client, meta };
  const work = durableWorkOf(tool, durable, call);
  const task = await runner.start(call, work, beginning);
  const { taskId } = task;
  if (leave) runner.left(taskId).then(leave);
  if (stateless && knowsTasks(client)) return { task };
  const ended = await endOf(task, call).catch(async (error) => {
    if (!signal.aborted) throw error;
    // A stop leaves it to another process, whatever the client thinks.
    if (call.hasEnded) await tasks.end(taskId, { status: "cancelled" });
    throw error;
  });
  const { outcome } = ended ?? {};
  if (ended?.status === "completed") {
    return print(call, outcome as CallToolResult);
  }
  const { code, message } = (outcome ?? DIED) as typeof DIED;
  throw new RpcError(code, message);
}

/** Waits for the end of a task. */
async function endOf(task: Task, { caller, signal, engine }: Call) {
  let state: Task | undefined = task;
  while (state && !isTerminal(state.status)) {
    state = await engine.tasks.next(state, caller.binding, signal);
  }
  return state;
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
