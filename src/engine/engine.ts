/**
 * Everything the MCP endpoint needs from the rest of the server.
 *
 * @module
 */
import type { Network } from "../address.ts";
import type { Authenticated } from "../caller.ts";
import type { Clock } from "../clock.ts";
import type { Gate } from "../gates/gate.ts";
import type { CheckOrigin } from "../gates/origin.ts";
import type { Around } from "../authoring/around.ts";
import type { ArrivingBodies } from "../http/arriving_bodies.ts";
import type { Logger } from "../log.ts";
import type { CancellationStore } from "../store/cancellations.ts";
import type { ChangeStore } from "../store/changes.ts";
import type { LedgerStore } from "../store/ledger.ts";
import type { ReplyStore } from "../store/replies.ts";
import type { SessionStore } from "../store/sessions.ts";
import type { StateStore } from "../store/request_states.ts";
import type { TaskStore } from "../store/tasks.ts";
import type { Catalogue } from "../protocol/catalogue.ts";
import type { Operation } from "../telemetry/telemetry.ts";
import type { CallerBound } from "./caller_bound.ts";
import type { Limits } from "./limits.ts";
import type { RunningCalls } from "./running.ts";
import type { Subscriptions } from "./subscriptions.ts";
import type { TaskRunner } from "./tasks/task_runner.ts";

/** The parts of one server, made once in `assemble.ts`. */
export interface Engine {
  catalogue: Catalogue;
  gate: Gate;
  checkOrigin: CheckOrigin;
  log: Logger;
  clock: Clock;
  /** The hook around tool calls. */
  around?: Around;
  running: RunningCalls;
  bodies: ArrivingBodies;
  subscriptions: Subscriptions;
  /** Open questions to 2025 clients, and of tasks. */
  questions: CallerBound;
  limits: Limits;
  /** Proxies whose word counts on where a request came from. */
  trustedProxies: readonly Network[];
  sessions: SessionStore;
  replies: ReplyStore;
  cancellations: CancellationStore;
  changes: ChangeStore;
  requestStates: StateStore;
  tasks: TaskStore;
  taskRunner: TaskRunner;
  /** What people see of their clients' calls; undefined: nothing is kept. */
  ledger?: LedgerStore;
}

/** An HTTP request that has passed the gate. */
export interface Admitted {
  request: Request;
  /** The address of its connection. */
  peer?: string;
  /** `MCP-Protocol-Version`. */
  version: string | null;
  authenticated: Authenticated;
  /** What there is for the caller. */
  catalogue: Catalogue;
  /** The message as those who collect telemetry see it. */
  operation?: Operation;
}
