/**
 * Calls that a server has handed over to a task, where the revision knows no
 * tasks: the result is asked for with the server's own tools, as models do.
 *
 * @module
 */
import { pause } from "../../src/clock.ts";
import {
  isUnknownTask,
  parseNotYet,
  TASK_CANCEL,
  TASK_STATUS,
} from "../../src/protocol/not_yet.ts";
import { Client, type ClientOptions, type Json } from "../client/mod.ts";

/** The least time between two questions: a server may answer each at once. */
const PAUSE_MILLISECONDS = 1000;

/** True if a call of a tool may be answered before it has its result. */
export function mayGoOn(
  tool: string,
  tools: readonly Json[],
  { revision }: Client,
): boolean {
  return revision !== "2026-07-28" && tool !== TASK_STATUS &&
    tools.some(({ name }) => name === TASK_STATUS);
}

/**
 * Gives the result of a call, for which it waits where the answer says that the
 * call goes on. The task ends with the signal.
 *
 * @throws {import("../client/mod.ts").ServerError}
 */
export async function resultAfter(
  answer: Json,
  client: Client,
  { onTask }: Pick<ClientOptions, "onTask">,
  signal?: AbortSignal,
): Promise<Json> {
  const begun = parseNotYet(answer);
  if (begun === undefined) return answer;
  const { taskId } = begun;
  const ask = (name: string, signal?: AbortSignal) =>
    client.request("tools/call", { name, arguments: { taskId } }, { signal });
  try {
    for (let found: typeof begun | undefined = begun;;) {
      const { state } = found;
      onTask?.({ taskId, status: "working", statusMessage: state });
      const told = await ask(TASK_STATUS, signal);
      // A tool that repeats what another server said names a task of that one.
      if (found === begun && isUnknownTask(told)) return answer;
      found = parseNotYet(told);
      if (found?.taskId !== taskId) return told;
      await pause(PAUSE_MILLISECONDS, signal);
      signal?.throwIfAborted();
    }
  } catch (error) {
    // Its refusal would hide the reason.
    if (signal?.aborted) {
      const end = AbortSignal.timeout(Client.CANCEL_MILLISECONDS);
      await ask(TASK_CANCEL, end).catch(() => {});
    }
    throw error;
  }
}
