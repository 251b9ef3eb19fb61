/**
 * The place of a run among its tool's concurrent calls, which a call that only
 * asks for an approval does not have.
 *
 * @module
 */
import { ToolError } from "../../authoring/tool.ts";
import { pause } from "../../core/clock.ts";
import type { ToolRun } from "../../core/mcp/exchange/engine.ts";
import type { Work } from "../../core/mcp/exchange/work.ts";
import { waitsForTurn } from "../work/task_work.ts";
import { noTurn } from "./approval_content.ts";

/** The time after which a task tries again to take a place. */
const PLACE_MILLISECONDS = 1000;

/** The answer by which a run begins. */
export interface KeptAnswer {
  /** False once the answer is kept no longer. */
  isKept(): boolean;
}

/**
 * Takes the place of a run that is about to begin. A task waits for one, and
 * shows that. Returns true if it has waited.
 *
 * @param answer undefined for a run without a press
 * @throws {LimitError} for a call, whose answer then stays for the next one
 * @throws {ToolError} for a task that got no place in time
 */
export async function takePlace(
  { tool: { name }, place }: ToolRun,
  work: Work,
  answer?: KeptAnswer,
): Promise<boolean> {
  const { signal, parking, startedMilliseconds } = work;
  let takeBack: (() => Promise<void>) | undefined;
  for (;;) {
    try {
      place?.take();
      await takeBack?.();
      return takeBack !== undefined;
    } catch (error) {
      if (startedMilliseconds !== undefined) throw error;
    }
    const approved = answer ? "Approved. " : "";
    takeBack ??= await work.showWaiting!(`${approved}${waitsForTurn(name)}`);
    // Durable work may leave the process meanwhile.
    await (parking
      ? parking.waitUntil(parking.now() + PLACE_MILLISECONDS / 1000)
      : pause(PLACE_MILLISECONDS, signal));
    signal.throwIfAborted();
    if (answer && !answer.isKept()) throw new ToolError(noTurn(name));
  }
}
