/**
 * The request that stands for the call of durable work in a process that has
 * taken it over.
 *
 * @module
 */
import type { McpClient } from "../../authoring/context.ts";
import type { Authenticated, Caller } from "../../caller.ts";
import type { JsonObject } from "../../json.ts";
import type { Outcome } from "../../log/outcome.ts";
import type { Hold, RunBeginning } from "../../store/run_record.ts";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { Engine } from "../exchange/engine.ts";
import { type Reported, reportTask } from "../exchange/report.ts";
import type { Work } from "../exchange/call_context.ts";
import type { CountedAs } from "../exchange/counted_as.ts";
import { hasPage, Visits } from "../exchange/visits.ts";
import type { Beginning } from "./work_of_task.ts";

/** The words for work without the sign-in of a request. */
export const LACKS_UPSTREAM =
  "The provider's API is out of reach: this work goes on without the request that began it, and so without its sign-in.";

/** A call that no request waits for. */
export class ResumedCall implements Beginning {
  readonly stateless = true;
  readonly lacksUpstream = LACKS_UPSTREAM;
  readonly requestId: string;
  readonly client: McpClient;
  readonly meta: JsonObject;
  readonly changes: Work["changes"];
  readonly countedAs?: CountedAs;
  readonly visits?: Visits;
  /** Its work has a signal of its own. */
  readonly signal = new AbortController().signal;
  readonly #reported: Reported;

  constructor(
    engine: Pick<Engine, "log" | "clock" | "ledger" | "changes" | "waitPages">,
    { taskId, run }: Pick<Hold, "taskId" | "run">,
    { client, meta }: RunBeginning,
    readonly authenticated: Authenticated,
    catalogue: Catalogue,
  ) {
    this.requestId = taskId;
    this.client = client;
    this.meta = meta;
    this.changes = engine.changes;
    this.countedAs = run.countedAs;
    const { waitPages } = engine;
    const { caller } = authenticated;
    if (waitPages && hasPage(caller, waitPages)) {
      const place = { taskId };
      this.visits = new Visits(waitPages, caller, run.tool, place, taskId);
    }
    this.#reported = {
      engine,
      message: {
        kind: "request",
        id: taskId,
        method: "tools/call",
        params: { name: run.tool, _meta: meta },
      },
      admitted: { authenticated, catalogue },
      client,
      requestId: taskId,
      startedMilliseconds: run.createdMilliseconds,
    };
  }

  get caller(): Caller {
    return this.authenticated.caller;
  }

  /** Nothing is sent beside the task. */
  notify(): Promise<void> {
    return Promise.resolve();
  }

  /** The task asks by itself. */
  request(): Promise<JsonObject> {
    return Promise.reject(new Error("There is no request to ask on"));
  }

  endTask(taskId: string, outcome: Outcome): void {
    reportTask(this.#reported, taskId, outcome);
  }
}
