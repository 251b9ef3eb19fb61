/**
 * The hand-over of a call that takes long: what runs becomes a task, and the
 * call is answered with that. Its context speaks for the task from then on.
 *
 * @module
 */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { LimitError, StorageError } from "../../errors.ts";
import type { CompiledTool } from "../../catalogue/compiled_tool.ts";
import type { Call } from "../exchange/call.ts";
import { CallContext } from "../exchange/call_context.ts";
import type { Engine } from "../exchange/engine.ts";
import { settle } from "../exchange/run.ts";
import { printProgress } from "./task_state.ts";
import type { TaskRegistry } from "./task_registry.ts";

/** The time after which a hand-over that the database kept is tried again. */
const AGAIN_MILLISECONDS = 5000;

/** The parts of a server whose calls may go on as tasks. */
export interface TaskEngine extends Engine {
  taskRegistry: TaskRegistry;
}

/** A call whose work may go on as a task. */
export type LastingCall = Call & { readonly engine: TaskEngine };

/**
 * Hands the call of a running tool over when it has lasted for the tool's time.
 *
 * @param result what the running tool gives
 * @returns a function for the beats of the call
 */
export function handOverInTime(
  call: LastingCall,
  tool: CompiledTool,
  result: Promise<CallToolResult>,
): NonNullable<Call["onBeat"]> {
  let notBefore = call.startedMilliseconds + tool.handOverMilliseconds;
  return (nowMilliseconds) => {
    if (nowMilliseconds < notBefore || !isFree(call)) return;
    notBefore = Infinity;
    handOver(call, tool, result).then(
      () => notBefore = -Infinity,
      // It goes on in its request.
      (error) => {
        if (error instanceof StorageError) {
          notBefore = nowMilliseconds + AGAIN_MILLISECONDS;
        } else complain(call, error);
      },
    );
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
function isFree({ hasEnded, isStopped, context }: Call): boolean {
  return !hasEnded && !isStopped && !CallContext.isAsking(context);
}

async function handOver(
  call: LastingCall,
  tool: CompiledTool,
  result: Promise<CallToolResult>,
): Promise<void> {
  const { engine: { taskRegistry, running }, context } = call;
  await taskRegistry.handOver({
    request: call,
    result,
    get statusMessage() {
      const latest = CallContext.progressOf(context);
      return latest && printProgress(latest);
    },
    take(task, work) {
      if (!isFree(call)) return false;
      CallContext.speakFor(context, work);
      running.delete(call);
      settle(call, { task });
      return true;
    },
  }, tool);
}
