/**
 * Ends a run that starts again once its question has an answer.
 * @module
 */
import type { MaybePromise } from "../../../authoring/service.ts";
import { Suspended } from "../../protocol/input_rounds.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import { settleCall } from "./run.ts";

/**
 * Interrupts the tool's run. The request gets `answer`. The client then starts
 * the next run, which gets the answers that were given on pages.
 * @param onLate called instead if the call ended before, without being stopped
 */
export async function suspend(
  call: Call,
  answer: () => MaybePromise<Answer>,
  onLate: () => void = () => {},
): Promise<void> {
  const { authorCode, execution } = call;
  if (execution.hasEnded) {
    if (execution.isStopped) {
      return void authorCode.interrupt(execution.signal.reason);
    }
    return onLate();
  }
  const next = async () => {
    await call.pageQuestions?.release();
    await call.putBack?.();
    return await answer();
  };
  settleCall(call, await next().catch((error) => ({ error })));
  const suspended = new Suspended();
  // Ends the tool's parallel work, too.
  execution.interrupt(suspended.message);
  authorCode.interrupt(suspended);
}
