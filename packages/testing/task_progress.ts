/**
 * The part of the kit around every tool call: a test sees all progress of its
 * tasks, of which clients see only some in the status, and durable work begins
 * once its test has the task.
 *
 * @module
 */
import type { Around } from "../../src/authoring/around.ts";
import type { Context, Question } from "../../src/authoring/context.ts";
import { durableOf } from "../../src/authoring/durable.ts";
import { knowsTasks } from "../../src/mcp/exchange/task_answer.ts";
import type { TestGate } from "./test_gate.ts";

/** Makes the kit's hook around tools, within which is the author's. */
export function aroundTasks(gate: TestGate, own?: Around): Around {
  return (call, next) => {
    const { tool, context } = call;
    const run = () => own ? own(call, next) : next();
    answerPages(context);
    if (!tool.task || !isTask(context)) return run();
    const listener = gate.listenerOf(context);
    if (!listener) return run();
    const { progress } = context;
    Object.defineProperty(context, "progress", {
      value: async (done: number, total?: number, message?: string) => {
        await progress(done, total, message);
        // Another run of durable work repeats what was told.
        if (!(done > listener.last)) return;
        listener.last = done;
        listener.tell({
          progress: done,
          ...(total !== undefined && { total }),
          ...(message !== undefined && { message }),
        });
      },
    });
    return durableOf(tool) ? listener.begun().then(run) : run();
  };
}

/** Lets a test answer for the server's own page, which the kit does not have. */
function answerPages(context: Context): void {
  const { ask } = context;
  Object.defineProperty(context, "ask", {
    value: (question: Question) =>
      "until" in question
        ? ask({ ...question, until: "opened" })
        : ask(question),
  });
}

function isTask({ client }: Context): boolean {
  return client.revision === "2026-07-28" && knowsTasks(client);
}
