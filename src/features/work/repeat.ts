/**
 * Repeats: the same call, made again because its response came before its tool
 * had ended. By a repeat the client gets the result, once, if the server lists
 * no tool that returns results of tasks. Loaded with the first call that takes
 * long.
 *
 * @module
 */
import { appOf } from "../../core/caller.ts";
import type { CompiledTool } from "../../core/catalogue/compiled_tool.ts";
import { now } from "../../core/clock.ts";
import { fingerprintOfLong } from "../../core/crypto/crypto.ts";
import { canonicalJson } from "../../core/json.ts";
import { argumentsOf } from "../../core/protocol/messages.ts";
import { isTerminal } from "./task_record.ts";
import type { Task } from "./tasks.ts";
import type { LastingCall } from "./task_engine.ts";
import { useTask } from "./task_following.ts";
import { TaskRelay, waitAsCall } from "./task_wait.ts";

/** The seconds for which a repeat can get the result of an ended task. */
const KEPT_SECONDS = 5 * 60;

/** Makes a name that is the same for a call and its repeats. */
export function repeatOf(
  { caller, limitKey, sessionId, client, params }: LastingCall,
  { approval }: CompiledTool,
): Promise<string> {
  const { isMany, name } = limitKey;
  // A call with a new token may repeat a call with an older token, unless the
  // tool needs approval.
  const own = approval ? caller : { ...caller, tokenId: undefined };
  const app = client.info?.name;
  const who = isMany ? [name, sessionId, app] : [appOf(own) ?? app];
  return fingerprintOfLong(
    canonicalJson([caller.binding, ...who, params.name, argumentsOf(params)]),
  );
}

/**
 * Finds the task of the earlier call that this call repeats, and waits for its
 * end. Undefined if there is none. If several tasks match, two simultaneous
 * repeats take different ones; if only one does, both may get its result.
 */
export async function pickUp(
  call: LastingCall,
  tool: CompiledTool,
): Promise<Task | undefined> {
  const { tasks, clock } = call.engine;
  const repeat = await repeatOf(call, tool);
  const ids = await tasks.repeatedBy(repeat);
  const found = await Promise.all(ids.map((id) => useTask(call, id)));
  const fresh = found.filter((task) => task !== undefined)
    .filter(({ status, updatedMilliseconds }) =>
      !isTerminal(status) ||
      updatedMilliseconds / 1000 + KEPT_SECONDS > now(clock)
    );
  // Ended tasks come first.
  fresh.sort((a, b) => +isTerminal(b.status) - +isTerminal(a.status));
  let seen: Task | undefined;
  for (const task of fresh) {
    const relay = new TaskRelay(call, tool.handOverMilliseconds);
    const next = await waitAsCall(call, tool, task, relay);
    if (next === undefined) continue;
    seen = next;
    // The client is gone, so the result is kept for the next repeat.
    const hasLeft = call.responseIfMade?.hasEnded === true ||
      call.admitted.request.signal.aborted;
    if (!isTerminal(seen.status) || hasLeft) break;
    // If a result cannot be marked as taken, it may be given twice, but is not
    // lost.
    if (await tasks.takeRepeated(repeat, task.taskId).catch(() => true)) break;
  }
  call.execution.taskId = seen?.taskId;
  return seen;
}
