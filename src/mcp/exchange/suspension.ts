/**
 * The end of a run that has to begin again once its question has an answer.
 *
 * @module
 */
import { Suspended } from "../wire/inquiry.ts";
import type { MaybePromise } from "../../authoring/service.ts";
import type { Answer } from "./answer.ts";
import type { Call } from "./call.ts";
import { settle } from "./settle.ts";

/**
 * Ends a round with the answer that leads to the next one, and so ends the
 * tool's run. Answers that were given on pages are put back for the next run.
 *
 * @param onLate called when the call has ended already, by itself
 */
export async function suspend(
  call: Call,
  answer: () => MaybePromise<Answer>,
  onLate: () => void = () => {},
): Promise<void> {
  const { authored } = call;
  if (call.hasEnded) {
    if (call.isStopped) return void authored.cut(call.signal.reason);
    return onLate();
  }
  const next = async () => {
    await call.visits?.release();
    return await answer();
  };
  settle(call, await next().catch((error) => ({ error })));
  const suspended = new Suspended();
  // Parallel work ends with the question too.
  call.stop(suspended.message);
  authored.cut(suspended);
}
