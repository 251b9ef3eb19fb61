/**
 * The stores of tasks and runs, shared by all calls and pages of a server.
 *
 * @module
 */
import { makeOncePerServer } from "../../core/store/opened_server.ts";
import { stepFailureStore, stepStore } from "./steps.ts";
import { type TaskEvents, taskStore } from "./tasks.ts";

export const workOf = makeOncePerServer(({ database, log }) => {
  /** Filled when the first call is served. */
  const events: TaskEvents = {};
  return {
    events,
    tasks: taskStore(database, events),
    steps: stepStore(database),
    failures: stepFailureStore(database, log.logger("mcp")),
  };
});
