import type { Call } from "../../core/mcp/exchange/call.ts";
import type { MethodEngine } from "../../core/mcp/methods/method_engine.ts";
import type { TaskRegistry } from "./task_registry.ts";
import type { TaskStore } from "./tasks.ts";

export interface TaskEngine extends MethodEngine {
  tasks: TaskStore;
  taskRegistry: TaskRegistry;
}

/** A call that may become a task. */
export type LastingCall = Call & { readonly engine: TaskEngine };
