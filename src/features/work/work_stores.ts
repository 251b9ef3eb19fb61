/**
 * The stores of a server's work. Calls, pages and the end of grants share them.
 *
 * @module
 */
import { ofServer } from "../../core/store/opened_server.ts";
import { stepFailureStore, stepStore } from "./steps.ts";
import { type TaskEvents, taskStore } from "./tasks.ts";

export const workOf = ofServer(({ database, log }) => {
  /** Filled once calls are served. */
  const events: TaskEvents = {};
  return {
    events,
    tasks: taskStore(database, events),
    steps: stepStore(database),
    failures: stepFailureStore(database, log.logger("mcp")),
  };
});
