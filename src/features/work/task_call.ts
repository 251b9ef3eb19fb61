/**
 * Calls that outlast their requests: repeats of earlier ones, and calls whose
 * tool runs in a task.
 *
 * @module
 */
import { durableOf, type DurableTask } from "../../authoring/durable.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import {
  type CompiledTool,
  isAlwaysTask,
  mayOutlast,
} from "../../core/catalogue/compiled_tool.ts";
import type { Answer } from "../../core/mcp/exchange/answer.ts";
import { follow } from "../../core/mcp/exchange/author_code.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import type { GivenKeys } from "../../core/mcp/exchange/given_keys.ts";
import type {
  LongCalls,
  PreparedCall,
} from "../../core/mcp/methods/method_engine.ts";
import { print } from "../../core/mcp/methods/tool_call.ts";
import { runAround } from "../../core/mcp/methods/tool_run.ts";
import { argumentsOf, invalidParams } from "../../core/protocol/messages.ts";
import { telemetry } from "../../core/telemetry/current.ts";
import { addressOfWork, durableWorkOf } from "./durable_call.ts";
import { handOverInTime, isRepeatable } from "./hand_over.ts";
import type { LastingCall } from "./task_engine.ts";
import {
  checkKnowsTasks,
  goesOn,
  hasTasks,
  resultOfTask,
  unknownTaskResult,
} from "./task_answer.ts";
import { isTerminal, TASK_SECONDS } from "./task_record.ts";
import { TaskRelay, waitAsCall } from "./task_wait.ts";
import type { Task } from "./tasks.ts";

/** The way of long calls. Its calls have the engine of this feature. */
export const taskCalls: LongCalls = {
  repeat(call, tool) {
    if (!isRepeatable(call, tool)) return undefined;
    const own = call as LastingCall;
    const long = own.engine.tasks.longTools(call.startedMilliseconds);
    const next = (tools: ReadonlySet<string>): MaybePromise<
      Answer | undefined
    > => tools.has(tool.name) ? repeat(own, tool) : undefined;
    return follow(long, next);
  },

  taskOf(call, tool) {
    const own = call as LastingCall;
    if (tool.task !== undefined && hasTasks(call)) {
      return async (toolCall) => goesOn(call, await startTask(toolCall, own));
    }
    if (!isAlwaysTask(tool)) return undefined;
    if (!mayOutlast(tool)) {
      if (!call.stateless) {
        throw invalidParams(
          `${tool.name} runs as a task, which this client does not support`,
        );
      }
      checkKnowsTasks(call.client);
    }
    return (toolCall) => runAsTask(toolCall, own);
  },

  watch(call, tool, running) {
    if (!mayOutlast(tool)) return;
    call.watch.onBeat = handOverInTime(call as LastingCall, tool, running);
  },

  needsTools: (call) => !hasTasks(call),
};

/** Answers a repeat with the task of the earlier call, if there is one. */
async function repeat(
  call: LastingCall,
  tool: CompiledTool,
): Promise<Answer | undefined> {
  const { pickUp } = await import("./repeat.ts");
  const task = await pickUp(call, tool);
  return task && answerWith(call, task);
}

/**
 * Begins a task for a client without tasks, and waits for its end. If that
 * takes longer than the tool allows, the answer is that the task goes on.
 */
async function runAsTask(
  toolCall: PreparedCall,
  call: LastingCall,
): Promise<Answer> {
  const { tool } = toolCall;
  const { progressToken } = call;
  if (progressToken !== undefined) {
    call.relayProgress = (progress) =>
      call.notify("notifications/progress", { ...progress, progressToken });
  }
  const task = await startTask(toolCall, call);
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
    : goesOn(call, task);
}

/** Begins a task, whose end frees the call's place in the tool's limit. */
async function startTask(
  toolCall: PreparedCall,
  call: LastingCall,
): Promise<Task> {
  const { tool, leave } = toolCall;
  const durable = durableOf(tool);
  if (durable) return await startDurable(toolCall, call, durable);
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
  toolCall: PreparedCall,
  call: LastingCall,
  durable: DurableTask,
): Promise<Task> {
  const { tool, found, leave } = toolCall;
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
