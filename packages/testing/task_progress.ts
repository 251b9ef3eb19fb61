/**
 * The progress of tasks. Clients see only some of it, in a task's status; a
 * test sees all.
 *
 * @module
 */
import type { Around } from "../../src/authoring/around.ts";
import type { Context } from "../../src/authoring/context.ts";
import { knowsTasks } from "../../src/mcp/work/task_methods.ts";
import type { TestGate } from "./test_gate.ts";

/** Makes a hook that tells a test the progress of a task, within its own hook. */
export function tellTaskProgress(gate: TestGate, own?: Around): Around {
  return (call, next) => {
    const { tool, context } = call;
    const tell = gate.listenerOf(context.caller);
    // Elsewhere the client hears of it.
    if (tell && tool.task && isTask(context)) {
      const { progress } = context;
      let last = -Infinity;
      Object.defineProperty(context, "progress", {
        value: async (done: number, total?: number, message?: string) => {
          await progress(done, total, message);
          if (!(done > last)) return;
          last = done;
          tell({
            progress: done,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message }),
          });
        },
      });
    }
    return own ? own(call, next) : next();
  };
}

function isTask({ client }: Context): boolean {
  return client.revision === "2026-07-28" && knowsTasks(client);
}
