/**
 * Limits on the memory of other services' responses in this process. A service
 * may respond slowly, to any number of calls.
 * @module
 */
import { ToolError } from "../../../authoring/tool.ts";
import type { ResponseMemory } from "../../net/bounded_answer.ts";
import { type LimitKey, MemoryBudget } from "./limits.ts";

export const heldResponseBudget = new MemoryBudget("answers of other services");

const BUSY = "Too many answers of other services are on their way here: try " +
  "again in a minute.";

/**
 * Starts to count the bytes of a response: in total, and for its caller if
 * known.
 */
export function countHeldBytes(limitKey?: LimitKey): ResponseMemory {
  let held: number | undefined = 0;
  return {
    add(bytes) {
      // The call has ended, but a stream of it may still get bytes.
      if (held === undefined) return;
      try {
        heldResponseBudget.check({ limitKey, messageBytes: bytes });
      } catch {
        throw new ToolError(BUSY);
      }
      heldResponseBudget.count(limitKey, bytes);
      held += bytes;
    },
    release() {
      if (held) heldResponseBudget.count(limitKey, -held);
      held = undefined;
    },
  };
}
