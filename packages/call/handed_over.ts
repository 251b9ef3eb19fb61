/**
 * Calls that a server has turned into tasks although the client's revision has
 * none. The client then gets the result as models do: by the built-in tools, or
 * by making the same call again.
 *
 * @module
 */
import { pause } from "../../src/core/clock.ts";
import {
  isUnknownTask,
  parseNotYet,
  TASK_CANCEL,
  TASK_STATUS,
} from "../../src/core/protocol/not_yet.ts";
import { Client, type ClientOptions, type Json } from "../client/mod.ts";

/** The minimum time between two requests for a result. */
const PAUSE_MILLISECONDS = 1000;

/** The call of a tool, as its client sent it. */
export interface ToolCall {
  name: string;
  arguments: Json;
}

/** True if the answer may mean that the call continues as a task. */
export function mayBeTask(
  answer: Json,
  { name: called }: ToolCall,
  tools: readonly Json[],
  { revision }: Client,
): boolean {
  if (revision === "2026-07-28" || called === TASK_STATUS) return false;
  return parseNotYet(answer)?.isRepeatable === true ||
    tools.some(({ name }) => name === TASK_STATUS);
}

/**
 * Returns the result of a call. If the call continues as a task, waits for the
 * result. If the signal fires, also ends the work in the server.
 *
 * @throws {import("../client/mod.ts").ServerError}
 */
export async function finalResult(
  answer: Json,
  call: ToolCall,
  client: Client,
  { onTask }: Pick<ClientOptions, "onTask">,
  signal?: AbortSignal,
): Promise<Json> {
  const first = parseNotYet(answer);
  if (first === undefined) return answer;
  const { taskId, isRepeatable } = first;
  const send = (call: ToolCall, signal?: AbortSignal) =>
    client.request("tools/call", { ...call }, { signal });
  const ask = (name: string, signal?: AbortSignal) =>
    send({ name, arguments: { taskId } }, signal);
  try {
    for (let found: typeof first | undefined = first;;) {
      const { state } = found;
      onTask?.({ taskId, status: "working", statusMessage: state });
      const next =
        await (isRepeatable ? send(call, signal) : ask(TASK_STATUS, signal));
      // The tool may have repeated another server's text: the task is then on
      // that server.
      if (found === first && isUnknownTask(next)) return answer;
      found = parseNotYet(next);
      if (found?.taskId !== taskId) return next;
      await pause(PAUSE_MILLISECONDS, signal);
      signal?.throwIfAborted();
    }
  } catch (error) {
    // An error of the cancellation would hide the reason. A repeated call was
    // cancelled with its own request.
    if (signal?.aborted && !isRepeatable) {
      const end = AbortSignal.timeout(Client.CANCEL_MILLISECONDS);
      await ask(TASK_CANCEL, end).catch(() => {});
    }
    throw error;
  }
}
