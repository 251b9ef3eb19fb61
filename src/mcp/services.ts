/**
 * Everything the MCP endpoint needs from the rest of the server.
 *
 * @module
 */
import type { Authenticated } from "../caller.ts";
import type { Gate } from "../http/gate.ts";
import type { CheckOrigin } from "../http/origin.ts";
import type { Logger } from "../log.ts";
import type { CancellationStore } from "../store/cancellations.ts";
import type { ChangeStore } from "../store/changes.ts";
import type { ReplyStore } from "../store/replies.ts";
import type { SessionStore } from "../store/sessions.ts";
import type { StateStore } from "../store/request_states.ts";
import type { TaskStore } from "../store/tasks.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ListenerCount } from "./listen.ts";
import type { RunningRequests } from "./running.ts";
import type { TaskRunner } from "./task_runner.ts";

/** The parts of one server, made once in `server.ts`. */
export interface Services {
  catalogue: Catalogue;
  gate: Gate;
  checkOrigin: CheckOrigin;
  log: Logger;
  running: RunningRequests;
  sessions: SessionStore;
  replies: ReplyStore;
  cancellations: CancellationStore;
  changes: ChangeStore;
  requestStates: StateStore;
  listeners: ListenerCount;
  tasks: TaskStore;
  taskRunner: TaskRunner;
}

/** A request that has passed the gate. */
export interface Passed {
  request: Request;
  headers: Headers;
  /** `MCP-Protocol-Version`. */
  version: string | null;
  authenticated: Authenticated;
}
