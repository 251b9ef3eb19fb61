/**
 * `tools/call`: the arguments are checked, the tool runs here or in a task, and
 * its result is checked too.
 *
 * @module
 * @see MCP 2026-07-28, Tools, Calling Tools
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { durableOf, type DurableTask } from "../../../authoring/durable.ts";
import type { MaybePromise } from "../../../authoring/service.ts";
import { telemetry } from "../../telemetry/current.ts";
import type { Answer, Result } from "../exchange/answer.ts";
import { follow } from "../exchange/author_code.ts";
import type { Call } from "../exchange/call.ts";
import type { GivenKeys } from "../exchange/given_keys.ts";
import {
  type CompiledTool,
  isAlwaysTask,
  mayOutlast,
} from "../../catalogue/compiled_tool.ts";
import { CallContext } from "../exchange/call_context.ts";
import { type ParsedInput, parseInput } from "../../catalogue/parse_input.ts";
import { argumentsOf, invalidParams, shown } from "../../protocol/messages.ts";
import type { JsonObject } from "../../json.ts";
import {
  isTerminal,
  TASK_SECONDS,
} from "../../../features/work/task_record.ts";
import type { Task } from "../../../features/work/tasks.ts";
import {
  handOverInTime,
  isRepeatable,
  type LastingCall,
} from "../../../features/work/hand_over.ts";
import {
  checkKnowsTasks,
  hasTasks,
  resultOfTask,
  unknownTaskResult,
} from "../../../features/work/task_answer.ts";
import { TaskRelay, waitAsCall } from "../../../features/work/task_wait.ts";
import { callTaskTool } from "../../../features/work/task_methods.ts";
import { errorResult, inputErrorText } from "../../protocol/tool_result.ts";
import {
  addressOfWork,
  durableWorkOf,
} from "../../../features/work/durable_call.ts";
import { findNeeds, runAround, type ToolRun } from "./tool_run.ts";

/** A call of a tool, with its parsed input. */
class ToolCall implements ToolRun {
  /** Frees the place of the call among those of a tool with a limit. */
  leave?: () => void;
  prepared?: unknown;
  found?: ToolRun["found"];
  isInTask = false;

  constructor(
    readonly tool: CompiledTool,
    public input: JsonObject,
    readonly call: LastingCall,
  ) {}

  /** Runs the tool in its request, which may hand it over to a task. */
  run(): MaybePromise<Result> {
    const { tool, call } = this;
    const running = runAround(this, call.context);
    if (running instanceof Promise && mayOutlast(tool)) {
      call.watch.onBeat = handOverInTime(call, tool, running);
    }
    return follow(running, (result) => print(call, result));
  }
}

/** Calls the named tool. @throws {RpcError} -32602 for an unknown one */
export function callTool(call: LastingCall): MaybePromise<Answer> {
  const { catalogue, params } = call;
  const { name } = params;
  const tool = catalogue.tools.get(name as string);
  if (tool === undefined) {
    const isOurs = catalogue.taskTools.has(name as string);
    if (isOurs) return callTaskTool(call, name as string);
    throw invalidParams(`Unknown tool: ${shown(name)}`);
  }
  if (!isRepeatable(call, tool)) return begin(call, tool);
  return follow(
    call.engine.tasks.longTools(call.startedMilliseconds),
    (long) => long.has(tool.name) ? repeat(call, tool) : begin(call, tool),
  );
}

/** Answers a repeat with the task of the earlier call, if there is one. */
async function repeat(call: LastingCall, tool: CompiledTool): Promise<Answer> {
  const { pickUp } = await import("../../../features/work/repeat.ts");
  const task = await pickUp(call, tool);
  return task ? answerWith(call, task) : await begin(call, tool);
}

/** Checks the arguments of a call, and starts it. */
function begin(call: LastingCall, tool: CompiledTool): MaybePromise<Answer> {
  const { params } = call;
  const input = argumentsOf(params);
  if (!tool.input) return start(new ToolCall(tool, input, call));
  const next = (parsed: ParsedInput): MaybePromise<Answer> =>
    parsed.success
      ? start(new ToolCall(tool, parsed.data as JsonObject, call))
      : print(call, errorResult(inputErrorText(parsed.error, parsed.hasMore)));
  return follow(parseInput(tool.input, input), next);
}

function print(
  { printedLists: { printer } }: Call,
  result: CallToolResult,
): Result {
  return { result: printer.result(result), isToolError: result.isError };
}

/** Starts a call, with the steps that its tool needs. Most tools only run. */
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

/** Runs a tool within its own limit: a task keeps its place until it ends. */
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
 * Calls the tool's `prepare` in the request, which can ask the client. Then
 * runs the tool, here or as a task.
 */
async function prepare(toolCall: ToolCall): Promise<Answer> {
  const { tool, input, call } = toolCall;
  const { client, stateless, context } = call;
  const clientFollows = tool.task !== undefined && hasTasks(call);
  const serverWaits = isAlwaysTask(tool) && !clientFollows;
  if (serverWaits && !mayOutlast(tool)) {
    if (!stateless) {
      throw invalidParams(
        `${tool.name} runs as a task, which this client does not support`,
      );
    }
    checkKnowsTasks(client);
  }
  toolCall.prepared = await CallContext.follow(
    context,
    tool.prepare?.(input, context),
    (prepared) => prepared,
  );
  if (clientFollows) return { task: await startTask(toolCall) };
  return serverWaits ? await runAsTask(toolCall) : await toolCall.run();
}

/**
 * Begins a task for a client without tasks, and waits for its end. If that
 * takes longer than the tool allows, the answer is that the task goes on.
 */
async function runAsTask(toolCall: ToolCall): Promise<Answer> {
  const { tool, call } = toolCall;
  const { progressToken } = call;
  if (progressToken !== undefined) {
    call.relayProgress = (progress) =>
      call.notify("notifications/progress", { ...progress, progressToken });
  }
  const task = await startTask(toolCall);
  call.execution.taskId = task.taskId;
  // Not for a 2026 client: it would answer with a second call, which would
  // begin another task.
  const relay = call.stateless
    ? undefined
    : new TaskRelay(call, tool.handOverMilliseconds);
  const seen = await waitAsCall(call, tool, task, relay);
  if (seen === undefined) return print(call, unknownTaskResult());
  return answerWith(call, seen);
}

function answerWith(call: Call, task: Task): Answer {
  return isTerminal(task.status)
    ? print(call, resultOfTask(task, call))
    : { task };
}

/** Begins a task, whose end frees the call's place in the tool's limit. */
async function startTask(toolCall: ToolCall): Promise<Task> {
  const { tool, call, leave } = toolCall;
  const durable = durableOf(tool);
  if (durable) return await startDurable(toolCall, durable);
  const { name, scopes, needs } = tool;
  const { given } = call.authorCode;
  const { task } = await call.engine.taskRegistry.start(call, {
    tool: name,
    scopes,
    needsAccounts: needs && true,
    async run(context) {
      // The prepared value may hold a key.
      const code = CallContext.codeOf(context);
      if (code) code.given = given;
      const run = async () => await runAround(toolCall, context);
      try {
        return await (telemetry ? telemetry.task(name, run) : run());
      } finally {
        leave?.();
      }
    },
  });
  toolCall.isInTask = true;
  return task;
}

/**
 * Gives what durable work begins with, without the keys that `prepare` was given.
 *
 * @throws {TypeError} for a key itself, as of a step
 */
function keptWithout(given: GivenKeys | undefined, prepared: unknown): unknown {
  if (!given) return prepared;
  if (!given.isKey(prepared)) return given.cleanData(prepared);
  throw new TypeError(
    "What `prepare` gave cannot be kept: it is a person's key: reveal it where it is used",
  );
}

/**
 * Begins durable work. The place of the call in the tool's limit is freed when
 * the work ends or leaves this process.
 */
async function startDurable(
  toolCall: ToolCall,
  durable: DurableTask,
): Promise<Task> {
  const { tool, found, call, leave } = toolCall;
  const { client, meta, params, engine } = call;
  const sent = argumentsOf(params);
  const input = found?.own(sent) ?? sent;
  const begun = found?.begun;
  const { given } = call.authorCode;
  const prepared = keptWithout(given, toolCall.prepared);
  const beginning = { input, prepared, begun, client, meta };
  const work = durableWorkOf(tool, durable, beginning, call);
  const { task, done } = await engine.taskRegistry.start(call, work, {
    keep: durable.keep ?? TASK_SECONDS,
    version: work.version,
    address: addressOfWork(call.caller, engine.waitPages),
    beginning,
  });
  toolCall.isInTask = true;
  if (leave) done.then(leave);
  return task;
}
