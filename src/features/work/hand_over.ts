/**
 * The hand-over of a call that takes long: the running tool becomes a task, and
 * the call is answered with that task. From then on the tool's context belongs
 * to the task.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { LimitError, StorageError } from "../../core/errors.ts";
import {
  type CompiledTool,
  mayOutlast,
} from "../../core/catalogue/compiled_tool.ts";
import type { Call } from "../../core/mcp/exchange/call.ts";
import type { CallWatch } from "../../core/mcp/exchange/call_execution.ts";
import { CallContext } from "../../core/mcp/exchange/call_context.ts";
import type { LastingCall } from "./task_engine.ts";
import { settle } from "../../core/mcp/exchange/run.ts";
import { goesOn, hasTasks } from "./task_answer.ts";
import { MARKED_BEFORE_MILLISECONDS } from "./call_repeats.ts";
import { printProgress } from "./task_state.ts";

/** The time after which a hand-over that the database failed is tried again. */
const AGAIN_MILLISECONDS = 5000;

const UNDECLARED =
  "A call was answered before its tool had ended: give the tool `task` or `handOver`, so that clients are listed tools that ask for its result";

/**
 * Hands the call of a running tool over once it has lasted for
 * `handOverMilliseconds`.
 *
 * @param result the result of the running tool
 * @returns a function to call on each beat
 */
export function handOverInTime(
  call: LastingCall,
  tool: CompiledTool,
  result: Promise<CallToolResult>,
): NonNullable<CallWatch["onBeat"]> {
  const due = call.startedMilliseconds + tool.handOverMilliseconds;
  let isMarked = !isRepeatable(call, tool);
  let notBefore = isMarked ? due : due - MARKED_BEFORE_MILLISECONDS;

  /**
   * Marks the tool as one whose calls go on after their answer. All processes
   * see the mark before the client can repeat the call.
   */
  async function mark(): Promise<void> {
    await call.engine.tasks.markLong(tool.name);
    isMarked = true;
    notBefore = Math.max(due, performance.now() + MARKED_BEFORE_MILLISECONDS);
  }

  return (nowMilliseconds) => {
    if (nowMilliseconds < notBefore || !isFree(call, tool)) return;
    notBefore = Infinity;
    const step = isMarked
      ? handOver(call, tool, result).then(() => void (notBefore = -Infinity))
      : mark();
    // The call goes on in its request.
    step.catch((error) => {
      if (error instanceof StorageError) {
        notBefore = nowMilliseconds + AGAIN_MILLISECONDS;
      } else complain(call, error);
    });
  };
}

/** Logs why a call was not handed over. */
function complain(
  { engine: { log }, requestId: reference }: LastingCall,
  error: unknown,
): void {
  if (error instanceof LimitError) {
    log.info("A call was not handed over: its caller has too many tasks", {
      reference,
    });
  } else log.warning("A call could not be handed over", { reference, error });
}

/** True if a call may be answered with a task now. */
function isFree(call: LastingCall, tool: CompiledTool): boolean {
  const { context, execution: { hasEnded, isStopped } } = call;
  if (hasEnded || isStopped || CallContext.isAsking(context)) return false;
  // The result may contain the answer of one of many people.
  return !CallContext.hasAsked(context) || hasOneClient(call, tool);
}

/** True if only the same call again reaches the result of a long call. */
export function isRepeatable(call: Call, tool: CompiledTool): boolean {
  return call.catalogue.taskTools.size === 0 && mayOutlast(tool) &&
    !hasTasks(call);
}

/**
 * True if only this client can get the result of a call. The repeats of many
 * people, with one credential or in one network, differ by their sessions
 * alone.
 */
function hasOneClient(call: LastingCall, tool: CompiledTool): boolean {
  const { sessionId, limitKey } = call;
  return !isRepeatable(call, tool) || sessionId !== undefined ||
    !limitKey.isMany;
}

/** Makes the name by which repeats of a call find it. */
async function nameOf(call: LastingCall): Promise<string> {
  const { repeatOf } = await import("./repeat.ts");
  return await repeatOf(call);
}

async function handOver(
  call: LastingCall,
  tool: CompiledTool,
  result: Promise<CallToolResult>,
): Promise<void> {
  const { engine: { taskRegistry, running }, context } = call;
  await taskRegistry.handOver({
    repeat: isRepeatable(call, tool) ? await nameOf(call) : undefined,
    mayAsk: hasOneClient(call, tool),
    request: call,
    result,
    get statusMessage() {
      const latest = CallContext.progressOf(context);
      return latest && printProgress(latest);
    },
    take(task, work) {
      if (!isFree(call, tool)) return false;
      CallContext.speakFor(context, work);
      running.delete(call);
      settle(call, goesOn(call, task));
      if (!tool.isDeclaredLong) call.advise(UNDECLARED);
      return true;
    },
  }, tool);
}
